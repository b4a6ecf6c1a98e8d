"""The table of categories and the mean of each model, what is missing in it, and the comparison of models."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.categories import Category
from assay.comparison import Comparison, compare_models
from assay.gaps import Gap
from assay.report.cells import cell, safe
from assay.report.columns import groups_of_models
from assay.results import ModelResult

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, list[str]]


def print_means(results: Sequence[ModelResult], console: Console) -> None:
    """Categories and mean of each model, a column each; below, what is missing and what was not compared."""
    from rich.table import Table

    comparison = compare_models(results)
    sections = (_category_rows(results), [_mean_row(results)], _comparison_rows(comparison))
    for group in groups_of_models(len(results), console.width):
        table = Table(title=cell("categories", style="bold"), title_justify="left")
        table.add_column("score (benchmarks, cases)", overflow="fold")
        for result in results[group]:
            table.add_column(cell(result.name), justify="right", overflow="fold")
        for rows in filter(None, sections):
            table.add_section()
            for name, cells in rows:
                table.add_row(cell(name), *map(cell, cells[group]), style="bold" if name == "mean" else "")
        console.print(table)
    for line in [*missing_lines(results), *_left_out_lines(comparison)]:
        console.print(cell(line))


def _category_rows(results: Sequence[ModelResult]) -> list[Row]:
    groups = [{category.name: category for category in result.categories} for result in results]
    names = dict.fromkeys(name for group in groups for name in group)
    return [
        (name, [_category_cell(group.get(name), r) for group, r in zip(groups, results, strict=True)]) for name in names
    ]


def _category_cell(category: Category | None, result: ModelResult) -> str:
    if category is None or not category.coverage[1]:
        return "not run"
    (found, benchmarks), (counted, cases) = category.benchmark_coverage, category.coverage
    if category.score is None and category.passed is not None:
        word = "passed" if category.passed else "NOT passed" if result.has_failure else "no verdict"
        return f"{word} ({found} of {benchmarks} judged)"
    return f"{_number(category.score, category.stderr)} ({found} of {benchmarks}, {counted}/{cases})"


def _number(score: float | None, stderr: float | None) -> str:
    if score is None:
        return "—"
    return f"{score:.2f}" + (f" ± {stderr:.2f}" if stderr else "")


def _mean_row(results: Sequence[ModelResult]) -> Row:
    return "mean", [_mean_cell(result) for result in results]


def _mean_cell(result: ModelResult) -> str:
    found, benchmarks = result.benchmark_coverage
    return f"{_number(*result.score)} over {found} of {benchmarks} benchmarks" if found else "—"


def _comparison_rows(comparison: Comparison | None) -> list[Row]:
    """Categories and mean over what all models finished; none for a single model."""
    if comparison is None:
        return []
    models, count = comparison.models, len(comparison.models[0].benchmarks)
    if not count:
        return [("all finished: nothing", ["—" for _ in models])]
    groups = [{c.name: c for c in model.categories} for model in models]
    rows = [(f"all finished: {name}", [_compared_cell(group[name]) for group in groups]) for name in groups[0]]
    return [*rows, ("all finished: mean", [f"{_number(*m.score)} over {count} benchmarks" for m in models])]


def _compared_cell(category: Category) -> str:
    number = _number(category.score, category.stderr)
    return f"{number} ({category.benchmark_coverage[0]}, {category.coverage[0]} cases)"


def missing_lines(results: Sequence[ModelResult]) -> list[str]:
    """What is missing in the mean or certificate of each model, a line for each reason."""
    lines = []
    for result in results:
        sizes = {category.name: category.benchmark_coverage[1] for category in result.categories}
        groups = _grouped([(str(gap.why), gap) for gap in result.missing])
        lines += [f"{result.name}, {why}: {_names(gaps, sizes)}" for why, gaps in groups.items()]
    return lines


def _left_out_lines(comparison: Comparison | None) -> list[str]:
    """What was not compared, a line for each reason."""
    groups = _grouped([(gap.reason, gap) for gap in comparison.left_out]) if comparison else {}
    return [f"not compared, {reason}: {_names(gaps, {})}" for reason, gaps in groups.items()]


def _grouped(gaps: Sequence[tuple[str, Gap]]) -> dict[str, list[Gap]]:
    groups: dict[str, list[Gap]] = {}
    for key, gap in gaps:
        groups.setdefault(key, []).append(gap)
    return groups


def _names(gaps: Sequence[Gap], sizes: dict[str, int]) -> str:
    """Names of benchmarks; a category of which all are missing is named as a whole."""
    groups = _grouped([(gap.category, gap) for gap in gaps])
    whole = {name for name, own in groups.items() if 1 < len(own) == sizes.get(name)}
    names = [f"all of {gap.category}" if gap.category in whole else gap.benchmark for gap in gaps]
    return ", ".join(dict.fromkeys(names))


def means_as_html(result: ModelResult) -> str:
    """The table for a notebook; everything that a model or file can name is escaped."""
    rows = [*_category_rows([result]), _mean_row([result])]
    body = "".join(
        f"<tr><td>{html.escape(safe(name))}</td><td>{html.escape(safe(cells[0]))}</td></tr>" for name, cells in rows
    )
    head = "<tr><th>category</th><th>score (benchmarks, cases)</th></tr>"
    lines = "".join(f"<p>{html.escape(safe(line))}</p>" for line in missing_lines([result]))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{lines}"
