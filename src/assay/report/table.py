"""The results of one model as a table, for a terminal or a notebook."""

from __future__ import annotations

import html
import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.observation import MetricValue, Verdict
from assay.outcome import ERROR, FAILED
from assay.report.categories import means_as_html, print_means
from assay.report.cells import cell, safe
from assay.report.columns import column_widths, groups_of_models, keeps_names
from assay.report.problems import MARKS, problem_lines, remark_lines, wrapped
from assay.report.verdict import summary_line
from assay.results import BenchmarkResult, ModelResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

CHECK_COLUMNS = ("check", "result", "grade", "error", "tolerance", "cases", "comment")
METRIC_COLUMNS = ("benchmark, metric", "value", "good", "score", "cases")
WIDE = 110
"""Columns from which on comments stand in the table; in a narrower terminal they stand below it."""

COLOURS = {"pass": "green", "FAIL": "bold red", "—": "dim", "error": "yellow"}


def print_tables(result: ModelResult, console: Console) -> None:
    """The verdicts of the checks and the metrics of the other benchmarks, each if there are any; no reasons yet."""
    others = [b for b in result.benchmarks if b.verdict is None]
    if result.verdicts or not others:
        print_checks(result, console)
    if others:
        print_metrics(result, console)


def print_problems(results: Sequence[ModelResult], console: Console) -> None:
    """What failed and what is not finished, with the reasons; the last lines of every report."""
    print_lines(problem_lines(results), console)


def print_lines(lines: Sequence[str], console: Console) -> None:
    """Print lines that may be long: they are wrapped at words, with the next lines indented, and never cut off."""
    for line in map(safe, lines):
        mark = line.partition(" ")[0]
        colour = {"FAIL": "bold red", "failed": "red", "error": "yellow"}.get(mark, "")
        text = cell("\n".join(wrapped(line, console.width)))
        if colour:
            text.stylize(colour, 0, len(mark))
        console.print(text)


def print_checks(result: ModelResult, console: Console) -> None:
    """The table of checks, the verdict in one line, and notes about the claims of the model."""
    wide = console.width >= WIDE
    rows = [_cells(verdict) for verdict in result.verdicts]
    table = _table(f"{result.name}: verification", CHECK_COLUMNS if wide else CHECK_COLUMNS[:-1], rows, console.width)
    console.print(table)
    told = [v for v in result.verdicts if v.comment and not wide and v.status not in (FAILED, ERROR)]
    print_lines([f"{v.name.rpartition('.')[2]}: {v.comment}" for v in told], console)
    print_lines([summary_line(result), *(f"note: {remark}" for remark in _remarks(result))], console)


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Table:
    """A table without the columns for which there is no room; every cell that is shown is whole."""
    from rich.table import Table

    rows = [[safe(text) for text in row] for row in rows]
    shown = column_widths(names, rows, width)
    table = Table(title=cell(title, style="bold"), title_justify="left")
    for name, size in shown.items():
        justify = "left" if name in (names[0], "comment") else "center" if name in ("result", "grade") else "right"
        table.add_column(name, justify=justify, overflow="fold", width=size)  # type: ignore[arg-type]
    for row in rows:
        cells = {name: cell(text) for name, text in zip(names, row, strict=False)}
        if "result" in cells:
            for name in ("result", "grade"):
                cells[name].stylize(COLOURS[row[1]])
        elif not row[0].startswith(" "):
            table.add_section()
            for shown_cell in cells.values():
                shown_cell.stylize("bold")
        table.add_row(*(cells[name] for name in shown))
    return table


def _cells(verdict: Verdict) -> list[str]:
    name = verdict.name.rpartition(".")[2] + ("*" if verdict.mandatory else "")
    return [name, MARKS[verdict.status], verdict.grade or "", *_numbers(verdict), _counts(verdict), verdict.comment]


def _numbers(verdict: Verdict) -> list[str]:
    if verdict.error is None or verdict.tolerance is None:
        return ["", ""]
    unit = verdict.unit if len(verdict.unit) < 8 else ""
    return [f"{verdict.error:.1e} {unit}".strip(), f"{verdict.tolerance:.1e}"]


def _counts(verdict: Verdict) -> str:
    text = str(verdict.evaluated)
    return text + (f" ({verdict.refused} refused)" if verdict.refused else "")


def _remarks(result: ModelResult) -> list[str]:
    survey = result.description.get("survey", {})
    if not isinstance(survey, dict):
        return []
    remarks = [str(r) for r in survey.get("remarks", [])]
    checked = survey.get("checked", [])
    if survey.get("sampled"):
        remarks.append(f"checked on {' '.join(checked)}; --all-species takes every element")
    energy, force = survey.get("noise_energy_eV"), survey.get("noise_force_eV_per_A")
    if checked and survey.get("precision"):
        known = isinstance(energy, float) and isinstance(force, float)
        noise = f"; noise floor {energy:.1e} eV, {force:.1e} eV/Å" if known else ""
        remarks.append(f"works in {survey['precision']}{noise}")
    return remarks


def print_metrics(result: ModelResult, console: Console) -> None:
    """What benchmarks other than checks have measured: a line for each of them and for each metric, then remarks."""
    console.print(_table(f"{result.name}: metrics", METRIC_COLUMNS, _metric_rows(result), console.width))
    print_lines(remark_lines(result), console)


def _metric_rows(result: ModelResult) -> list[list[str]]:
    """Cells for each benchmark, with its score and skill, and for each of its metrics."""
    rows = []
    for b in (b for b in result.benchmarks if b.verdict is None):
        error = f" ± {b.stderr:.2f}" if b.stderr else ""
        score = "" if b.score is None else f"{b.score:.2f}{error}"
        rows.append([b.name, _beyond_null(b).removeprefix(", "), "", score, f"{b.coverage[0]}/{b.coverage[1]}"])
        for metric in b.metrics if b.coverage[0] else ():
            count = f"{metric.coverage[0]}/{metric.coverage[1]}"
            rows.append([f"  {metric.name}", _value(metric), _ideal(metric), _plain(metric.score), count])
    return rows


def _value(metric: MetricValue) -> str:
    if metric.value is None:
        return "—"
    error = f" ± {metric.stderr:.2g}" if metric.stderr else ""
    return f"{metric.value:.4g}{error}" + (f" {metric.unit}" if metric.unit != "1" else "")


def _ideal(metric: MetricValue) -> str:
    """The range of values that score 1; empty for metrics that are only reported."""
    if metric.threshold is None:
        return ""
    limits = metric.tolerance_range or (metric.threshold, metric.threshold)
    text = "–".join(dict.fromkeys(f"{limit:.3g}" for limit in limits))
    return f"≤ {text}" if metric.ideal == 0.0 else f"{metric.ideal:+g} ± {text}"


def _plain(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def print_scores(results: Sequence[ModelResult], suite: str, console: Console) -> None:
    """Scores of one or more models, a column each."""
    from rich.table import Table

    names = list(dict.fromkeys(b.name for result in results for b in result.benchmarks))
    for group in groups_of_models(len(results), console.width):
        table = Table(title=cell(f"suite {suite}", style="bold"), title_justify="left")
        table.add_column("benchmark", overflow="fold", no_wrap=keeps_names(console.width))
        for result in results[group]:
            table.add_column(cell(result.name), justify="right", overflow="fold")
        for name in names:
            found = [next((b for b in r.benchmarks if b.name == name), None) for r in results[group]]
            table.add_row(cell(name), *(cell(_benchmark_cell(result)) for result in found))
        console.print(table)
    print_means(results, console)


def _benchmark_cell(result: BenchmarkResult | None) -> str:
    """The verdict of a check with its grade and cases, the score of another benchmark."""
    if result is None:
        return "not run"
    if result.verdict is None:
        return _score(result.score, result.stderr, result.coverage) + _beyond_null(result)
    mark, grade = MARKS[result.verdict.status], result.verdict.grade
    return " ".join(filter(None, [mark, grade, f"({result.coverage[0]}/{result.coverage[1]})" if grade else ""]))


def _score(score: float | None, stderr: float | None, coverage: tuple[int, int]) -> str:
    if score is None:
        return "—"
    error = f" ± {stderr:.2f}" if stderr else ""
    return f"{score:.2f}{error} ({coverage[0]}/{coverage[1]})"


def _beyond_null(benchmark: BenchmarkResult) -> str:
    """The score of a model without physics, and the skill above it."""
    if benchmark.null_score is None or benchmark.score is None:
        return ""
    skill = "" if benchmark.skill is None else f", skill {benchmark.skill:z.2f}"
    return f", null {benchmark.null_score:.2f}{skill}"


def text_width() -> int:
    """Columns of the terminal in which a report is printed, or of a file: COLUMNS, or else 140."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and len(chosen) < 9 and int(chosen) > 0:
        return int(chosen)
    return shutil.get_terminal_size((140, 24)).columns if sys.stdout.isatty() else 140


def as_text(result: ModelResult, width: int = 140) -> str:
    """The tables and the problems as plain text."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=width, no_color=True, force_jupyter=False)  # or rich shows them itself
    print_tables(result, console)
    if any(b.counts for b in result.benchmarks):
        print_means([result], console)
    print_problems([result], console)
    return stream.getvalue()


def as_html(result: ModelResult) -> str:
    """The table for a notebook; everything that a model or file can name is escaped."""
    checks = _html_table(CHECK_COLUMNS, [_cells(verdict) for verdict in result.verdicts])
    metrics = _html_table(METRIC_COLUMNS, _metric_rows(result))
    lines = [*remark_lines(result), *problem_lines([result])]
    metrics += "".join(f"<p>{html.escape(safe(line))}</p>" for line in lines)
    metrics += means_as_html(result) if any(b.counts for b in result.benchmarks) else ""
    return f"{checks}<p>{html.escape(safe(summary_line(result)))}</p>{metrics}" if result.verdicts else metrics


def _html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(safe(text))}</td>" for text in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
