"""JSON documents: every key of the contract, and no NaN."""

from __future__ import annotations

import re

import pytest

from assay.api import Report
from assay.report.document import check_document, score_document
from assay.results import ModelResult
from verdicts import strictly

CHECK = {
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "comment",
}  # fmt: skip
MODEL = {"name", "score", "stderr", "coverage", "categories", "benchmarks"}
BENCHMARK = {"name", "version", "score", "stderr", "coverage", "metrics", "cases"}
METRIC = {"name", "value", "stderr", "unit", "threshold", "score"}
CASE = {"id", "status", "values", "score", "reason"}


@pytest.mark.parametrize("name", ["sound_report", "broken_report", "not_finite", "hostile"])
def test_the_check_document_is_finite_and_has_every_key_of_the_contract(
    name: str, request: pytest.FixtureRequest
) -> None:
    given = request.getfixturevalue(name)
    document = strictly(check_document(given.result if isinstance(given, Report) else given))
    assert {"model", "passed", "checks"} <= set(document)
    assert isinstance(document["passed"], bool)
    assert document["checks"]
    for row in document["checks"]:
        assert set(row) >= CHECK
        assert re.fullmatch(r"verification\.[a-z_]+", row["name"])
        assert row["status"] in {"ok", "failed", "unsupported", "error"}
        assert row["passed"] in {True, False, None}
        assert row["grade"] in {"A", "B", "C", "D", "F", None}
        assert isinstance(row["evaluated"], int)
        assert isinstance(row["refused"], int)
        for key in ("error", "tolerance"):
            assert row[key] is None or isinstance(row[key], float)


@pytest.mark.parametrize("name", ["sound_report", "broken_report", "not_finite"])
def test_the_score_document_is_finite_and_has_every_key_of_the_contract(
    name: str, request: pytest.FixtureRequest
) -> None:
    given = request.getfixturevalue(name)
    document = strictly(score_document([given.result if isinstance(given, Report) else given], "smoke"))
    assert document["suite"] == "smoke"
    (model,) = document["models"]
    assert set(model) >= MODEL
    assert len(model["coverage"]) == 2
    for category in model["categories"].values():
        assert set(category) >= {"score", "stderr", "coverage"}
    for benchmark in model["benchmarks"]:
        assert set(benchmark) >= BENCHMARK
        assert all(set(metric) >= METRIC for metric in benchmark["metrics"])
        assert all(set(case) >= CASE for case in benchmark["cases"])
        assert benchmark["cases"]


def test_numbers_that_are_not_finite_become_null(not_finite: ModelResult) -> None:
    (row,) = check_document(not_finite)["checks"]
    assert (row["error"], row["tolerance"], row["floor"]) == (None, None, None)
    (benchmark,) = score_document([not_finite], "smoke")["models"][0]["benchmarks"]
    assert benchmark["score"] is None
    assert benchmark["cases"][0]["values"] == {"m": None, "n": None}
    assert benchmark["metrics"][0]["value"] is None


def test_the_documents_agree_with_the_results(sound_report: Report, broken_report: Report) -> None:
    assert check_document(sound_report.result)["passed"] is True
    rows = {row["name"]: row for row in check_document(broken_report.result)["checks"]}
    assert check_document(broken_report.result)["passed"] is False
    forces = rows["verification.forces_match_energy"]
    assert (forces["passed"], forces["grade"], forces["mandatory"], forces["error"]) == (False, "F", True, None)
    document = score_document([sound_report.result, broken_report.result], "smoke")
    sound, broken = document["models"]
    assert (sound["name"], broken["name"]) == ("assay.sabotage:sound", "assay.sabotage:zero_force")
    assert sound["score"] == 1.0 > broken["score"]
    assert sound["categories"]["verification"]["score"] == sound["score"]
