"""Scores as comma-separated values: one line for each model and benchmark."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TextIO

from assay.gaps import gap_of
from assay.results import ModelResult

COLUMNS = (
    "model", "benchmark", "version", "score", "stderr", "counted", "cases", "passed", "grade", "null_score", "skill",
    "data", "missing",
)  # fmt: skip


def print_csv(results: Sequence[ModelResult], stream: TextIO) -> None:
    """Write the header and the lines; an unknown number is an empty field."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        for b in result.benchmarks:
            verdict = (b.verdict.passed, b.verdict.grade) if b.verdict else (None, None)
            sources = _safe(" ".join(source["name"] for source in b.data))
            numbers = (b.version, b.score, b.stderr, *b.coverage, *verdict, b.null_score, b.skill)
            gap = gap_of(b)
            writer.writerow([_safe(result.name), b.name, *numbers, sources, str(gap.why) if gap else None])


def _safe(name: str) -> str:
    """A name that a spreadsheet cannot mistake for a formula."""
    return f"'{name}" if name[:1] in "=+-@" else name
