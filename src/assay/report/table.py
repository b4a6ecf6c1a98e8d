"""The results of one model as a table, for a terminal or a notebook."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.benchmark import MetricValue, Verdict
from assay.results import BenchmarkResult, ModelResult

if TYPE_CHECKING:
    from rich.console import Console

CHECK_COLUMNS = ("check", "result", "grade", "error", "tolerance", "cases", "comment")
METRIC_COLUMNS = ("benchmark, metric", "value", "good", "score", "cases")
WIDE = 110
"""Columns from which on comments stand in the table; in a narrower terminal they stand below it."""

MARKS = {"ok": "pass", "failed": "FAIL", "unsupported": "—", "error": "error"}
COLOURS = {"ok": "green", "failed": "bold red", "unsupported": "dim", "error": "yellow"}


def print_tables(result: ModelResult, console: Console) -> None:
    """The verdicts of the checks and the metrics of the other benchmarks, each if there are any."""
    others = [b for b in result.benchmarks if b.verdict is None]
    if result.verdicts or not others:
        print_checks(result, console)
    if others:
        print_metrics(result, console)


def print_checks(result: ModelResult, console: Console) -> None:
    """The table of checks, the verdict in one line, and notes about the claims of the model."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"{result.name}: verification", style="bold"), title_justify="left")
    table.add_column("check", no_wrap=True)
    for name in ("result", "grade"):
        table.add_column(name, justify="center", no_wrap=True)
    for name in ("error", "tolerance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cases", justify="right", no_wrap=True)
    wide = console.width >= WIDE
    if wide:
        table.add_column("comment", overflow="fold", ratio=1)
    for verdict in result.verdicts:
        colour = COLOURS[verdict.status]
        cells = [Text(cell) for cell in _cells(verdict)]
        cells[1].stylize(colour)
        cells[2].stylize(colour)
        table.add_row(*(cells if wide else cells[:-1]))
    console.print(table)
    for verdict in result.verdicts:
        if verdict.comment and not wide:
            console.print(Text(f"{verdict.name.rpartition('.')[2]}: {verdict.comment}"))
    console.print(Text(summary_line(result)))
    for remark in _remarks(result):
        console.print(Text(f"note: {remark}"))


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


def summary_line(result: ModelResult) -> str:
    """One sentence: does the model pass, and how many checks stand behind it."""
    counts = {status: sum(1 for v in result.verdicts if v.status == status) for status in MARKS}
    parts = f"{counts['ok']} passed, {counts['failed']} failed, {counts['unsupported']} not applicable"
    if counts["error"]:
        parts += f", {counts['error']} not finished"
    failed = [v.name.rpartition(".")[2] for v in result.verdicts if v.mandatory and v.passed is False]
    if failed:
        return f"{result.name} is NOT sound: {', '.join(failed)}. ({parts}; * must pass)"
    if not any(v.mandatory for v in result.verdicts):
        return f"{result.name}: no mandatory check was asked for. ({parts})"
    if not result.passed:
        return f"{result.name}: no verdict, some checks are not finished. ({parts}; * must pass)"
    return f"{result.name} passes all mandatory checks. ({parts}; * must pass)"


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
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"{result.name}: metrics", style="bold"), title_justify="left")
    table.add_column(METRIC_COLUMNS[0], no_wrap=True)
    for name in METRIC_COLUMNS[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for cells in _metric_rows(result):
        head = not cells[0].startswith(" ")
        if head:
            table.add_section()
        table.add_row(*(Text(cell, style="bold" if head else "") for cell in cells))
    console.print(table)
    for line in _comments(result):
        console.print(Text(line))


def _metric_rows(result: ModelResult) -> list[list[str]]:
    """Cells for each benchmark, with its score and skill, and for each of its metrics."""
    rows = []
    for b in (b for b in result.benchmarks if b.verdict is None):
        error = f" ± {b.stderr:.2f}" if b.stderr else ""
        score = "" if b.score is None else f"{b.score:.2f}{error}"
        rows.append([b.name, _beyond_null(b).removeprefix(", "), "", score, f"{b.coverage[0]}/{b.coverage[1]}"])
        for metric in b.metrics:
            count = f"{metric.coverage[0]}/{metric.coverage[1]}"
            rows.append([f"  {metric.name}", _value(metric), _ideal(metric), _plain(metric.score), count])
    return rows


def _comments(result: ModelResult) -> list[str]:
    """A line of comment for each benchmark that has one."""
    found = [(b.name, _comment(b)) for b in result.benchmarks if b.verdict is None]
    return [f"{name}: {comment}" for name, comment in found if comment]


def _value(metric: MetricValue) -> str:
    if metric.value is None:
        return "—"
    error = f" ± {metric.stderr:.2g}" if metric.stderr else ""
    return f"{metric.value:.4g}{error}" + (f" {metric.unit}" if metric.unit != "1" else "")


def _ideal(metric: MetricValue) -> str:
    """The range of values that score 1; empty for metrics that are only reported."""
    if metric.threshold is None:
        return ""
    return f"≤ {metric.threshold:.3g}" if metric.ideal == 0.0 else f"{metric.ideal:+g} ± {metric.threshold:.3g}"


def _plain(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _comment(benchmark: BenchmarkResult) -> str:
    """The data, and how many cases failed, are not supported or not finished, with the first reason of each."""
    parts = [f"data {source['name']} ({source['level'].partition(';')[0]})" for source in benchmark.data]
    for status, word in (("failed", "failed"), ("unsupported", "not supported"), ("error", "not finished")):
        found = [o for o in benchmark.observations if o.status == status]
        if found:
            names = ", ".join(o.case for o in found[:3]) + (" …" if len(found) > 3 else "")
            parts.append(f"{len(found)} {word} ({names}): {found[0].reason}")
    return "; ".join(parts)


def print_scores(results: Sequence[ModelResult], suite: str, console: Console) -> None:
    """Scores of one or more models, a column each."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"suite {suite}", style="bold"), title_justify="left")
    table.add_column("benchmark", no_wrap=True)
    for result in results:
        table.add_column(Text(result.name), justify="right")
    names = list(dict.fromkeys(b.name for result in results for b in result.benchmarks))
    for name in names:
        found = [next((b for b in r.benchmarks if b.name == name), None) for r in results]
        table.add_row(
            name, *(_score(b.score, b.stderr, b.coverage) + _beyond_null(b) if b else "not run" for b in found)
        )
    table.add_section()
    table.add_row("mean", *(_score(*r.score, r.coverage) for r in results), style="bold")
    console.print(table)


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


def as_text(result: ModelResult, width: int = 140) -> str:
    """The table as plain text."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=width, no_color=True)
    print_tables(result, console)
    return stream.getvalue()


def as_html(result: ModelResult) -> str:
    """The table for a notebook; everything that a model or file can name is escaped."""
    checks = _html_table(CHECK_COLUMNS, [_cells(verdict) for verdict in result.verdicts])
    metrics = _html_table(METRIC_COLUMNS, _metric_rows(result))
    metrics += "".join(f"<p>{html.escape(line)}</p>" for line in _comments(result))
    return f"{checks}<p>{html.escape(summary_line(result))}</p>{metrics}" if result.verdicts else metrics


def _html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
