"""Comma-separated values: a line for each model and benchmark, safe for spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest

from assay.api import Report
from assay.report.csv import COLUMNS, print_csv
from assay.results import ModelResult
from verdicts import benchmark, result, verdict


def rows_of(*results: ModelResult) -> list[dict[str, str]]:
    stream = io.StringIO()
    print_csv(results, stream)
    return list(csv.DictReader(io.StringIO(stream.getvalue())))


def test_csv_has_a_line_for_every_model_and_benchmark(sound_report: Report, broken_report: Report) -> None:
    rows = rows_of(sound_report.result, broken_report.result)
    assert len(rows) == len(sound_report.result.benchmarks) + len(broken_report.result.benchmarks)
    assert tuple(rows[0]) == COLUMNS
    by_name = {(row["model"], row["benchmark"]): row for row in rows}
    sound = by_name["assay.sabotage:sound", "verification.forces_match_energy"]
    broken = by_name["assay.sabotage:zero_force", "verification.forces_match_energy"]
    assert (float(sound["score"]), sound["counted"], sound["cases"], sound["passed"]) == (1.0, "4", "4", "True")
    assert (float(broken["score"]), broken["passed"], broken["grade"]) == (0.0, "False", "F")
    unknown = by_name["assay.sabotage:sound", "verification.unit_conversion"]
    assert {row["missing"] for row in rows} == {""}
    assert (unknown["score"], unknown["stderr"], unknown["passed"], unknown["grade"]) == ("", "", "", "")


def test_csv_says_why_a_benchmark_has_no_score() -> None:
    (row,) = rows_of(ModelResult("m", [benchmark("molecules.x", {"a": None})]))
    assert (row["score"], row["counted"], row["cases"], row["missing"]) == ("", "0", "1", "not supported")


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@SUM(A1)"])
def test_a_spreadsheet_does_not_take_a_name_for_a_formula(name: str) -> None:
    (row,) = rows_of(result(verdict("verification.x"), name=name))
    assert row["model"] == f"'{name}"


def test_names_with_commas_and_quotes_stay_in_their_field() -> None:
    (row,) = rows_of(result(verdict("verification.x"), name='a, "b"\nc'))
    assert row["model"] == 'a, "b"\nc'


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("\t=1+1", "'\t=1+1"),
        ("\tname", "'\tname"),
        ("\r=1+1", "\\r=1+1"),
        ("\n=1+1", "'\n=1+1"),
        ("  =1+1", "'  =1+1"),
        ("＝1", "'＝1"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_no_field_is_a_formula_or_a_code_of_a_terminal(name: str, field: str) -> None:
    (row,) = rows_of(result(verdict("verification.x"), name=name))
    assert row["model"] == field
