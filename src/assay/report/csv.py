"""Scores as comma-separated values: one line for each model and benchmark."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TextIO

from assay.gaps import gap_of
from assay.report.cells import safe
from assay.results import ModelResult

FORMULA = tuple("=+-@＝＋－＠")
"""What a formula of a spreadsheet begins with, in ordinary and in wide letters."""

WHITE = ("\t", "\n")
"""What some spreadsheets pass over before a formula; a carriage return is escaped in any case."""

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
            sources = " ".join(source["name"] for source in b.data)
            numbers = (b.version, b.score, b.stderr, *b.coverage, *verdict, b.null_score, b.skill)
            gap = gap_of(b)
            row = [result.name, b.name, *numbers, sources, str(gap.why) if gap else None]
            writer.writerow([plain_field(field) if isinstance(field, str) else field for field in row])


def plain_field(text: str) -> str:
    """Text that a spreadsheet cannot mistake for a formula, without codes of a terminal."""
    shown = safe(text)
    return f"'{shown}" if shown[:1] in WHITE or shown.lstrip()[:1] in FORMULA else shown
