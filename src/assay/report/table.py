"""The results of one model as a table, for a terminal or a notebook."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.benchmarks.verification._check import Verdict
from assay.results import ModelResult

if TYPE_CHECKING:
    from rich.console import Console

MARKS = {"ok": "pass", "failed": "FAIL", "unsupported": "—", "error": "error"}
COLOURS = {"ok": "green", "failed": "bold red", "unsupported": "dim", "error": "yellow"}


def print_checks(result: ModelResult, console: Console) -> None:
    """The table of checks, the verdict in one line, and what should be known about the model's claims."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"{result.name}: verification", style="bold"), title_justify="left")
    table.add_column("check", no_wrap=True)
    for name in ("result", "grade"):
        table.add_column(name, justify="center", no_wrap=True)
    for name in ("error", "tolerance"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("cases", justify="right", no_wrap=True)
    table.add_column("comment", overflow="fold", ratio=1)
    for verdict in result.verdicts:
        colour = COLOURS[verdict.status]
        cells = [Text(cell) for cell in _cells(verdict)]
        cells[1].stylize(colour)
        cells[2].stylize(colour)
        table.add_row(*cells)
    console.print(table)
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
    noise = f"{survey.get('noise_energy_eV') or 0.0:.1e} eV, {survey.get('noise_force_eV_per_A') or 0.0:.1e} eV/Å"
    if checked and survey.get("precision"):
        remarks.append(f"works in {survey['precision']}; noise floor {noise}")
    return remarks


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
        table.add_row(name, *(_score(b.score, b.stderr, b.coverage) if b else "not run" for b in found))
    table.add_section()
    table.add_row("mean", *(_score(*r.score, r.coverage) for r in results), style="bold")
    console.print(table)


def _score(score: float | None, stderr: float | None, coverage: tuple[int, int]) -> str:
    if score is None:
        return "—"
    error = f" ± {stderr:.2f}" if stderr else ""
    return f"{score:.2f}{error} ({coverage[0]}/{coverage[1]})"


def as_text(result: ModelResult, width: int = 140) -> str:
    """The table as plain text."""
    from rich.console import Console

    stream = io.StringIO()
    print_checks(result, Console(file=stream, width=width, no_color=True))
    return stream.getvalue()


def as_html(result: ModelResult) -> str:
    """The table for a notebook; everything that a model or file can name is escaped."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(verdict)) + "</tr>"
        for verdict in result.verdicts
    )
    names = ("check", "result", "grade", "error", "tolerance", "cases", "comment")
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{html.escape(summary_line(result))}</p>"
    )
