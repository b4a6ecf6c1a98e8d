"""JSON documents: every key of the contract, and no NaN."""

from __future__ import annotations

import re

import pytest

from assay.api import Report
from assay.gaps import Gap, Why
from assay.observation import MetricValue, Observation
from assay.outcome import OK, UNSUPPORTED
from assay.report.document import check_document, score_document
from assay.results import BenchmarkResult, ModelResult
from verdicts import benchmark, strictly

CHECK = {
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "comment",
}  # fmt: skip
MODEL = {"name", "score", "stderr", "coverage", "benchmark_coverage", "categories", "missing", "benchmarks"}
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
        assert set(category) >= {"score", "stderr", "coverage", "benchmark_coverage", "passed"}
    for row in model["benchmarks"]:
        assert set(row) >= BENCHMARK
        assert all(set(metric) >= METRIC for metric in row["metrics"])
        assert all(set(case) >= CASE for case in row["cases"])
        assert row["cases"]


def test_numbers_that_are_not_finite_become_null(not_finite: ModelResult) -> None:
    (row,) = check_document(not_finite)["checks"]
    assert (row["error"], row["tolerance"], row["floor"]) == (None, None, None)
    (found,) = score_document([not_finite], "smoke")["models"][0]["benchmarks"]
    assert found["score"] is None
    assert found["cases"][0]["values"] == {"m": None, "n": None}
    assert found["metrics"][0]["value"] is None


def test_a_case_names_the_tolerance_that_was_used_and_its_elements() -> None:
    metrics = [MetricValue("error", 1.0, None, "Å", 0.5, 0.5), MetricValue("told", 1.0, None, "Å", None, None)]
    values = {"error": 1.0, "told": 2.0}
    usual = Observation("a", OK, values, detail={"elements": ["H", "O"]})
    wide = Observation("b", OK, values, tolerances={"error": 0.8})
    lost = Observation("c", UNSUPPORTED, detail={"elements": ["S"]})
    found = BenchmarkResult("molecules.x", 1, 0.5, None, (2, 3), metrics, [usual, wide, lost], [0.5, 0.5, None])
    (row,) = strictly(score_document([ModelResult("m", [found])], "smoke"))["models"][0]["benchmarks"]
    assert [case["tolerances"] for case in row["cases"]] == [{"error": 0.5}, {"error": 0.8}, {}]
    assert [case["elements"] for case in row["cases"]] == [["H", "O"], [], ["S"]]


def test_the_documents_agree_with_the_results(sound_report: Report, broken_report: Report) -> None:
    assert check_document(sound_report.result)["passed"] is True
    rows = {row["name"]: row for row in check_document(broken_report.result)["checks"]}
    assert check_document(broken_report.result)["passed"] is False
    forces = rows["verification.forces_match_energy"]
    assert (forces["passed"], forces["grade"], forces["mandatory"], forces["error"]) == (False, "F", True, None)
    document = score_document([sound_report.result, broken_report.result], "smoke")
    sound, broken = document["models"]
    assert (sound["name"], broken["name"]) == ("assay.sabotage:sound", "assay.sabotage:zero_force")
    assert (sound["score"], broken["score"]) == (None, None)  # checks are part of no mean
    certificates = [model["categories"]["verification"] for model in (sound, broken)]
    assert [(c["score"], c["passed"]) for c in certificates] == [(None, True), (None, False)]
    for report, certificate in ((sound_report, certificates[0]), (broken_report, certificates[1])):
        judged = [check for check in report.checks.values() if check["passed"] is not None]
        assert certificate["benchmark_coverage"] == [len(judged), len(report.checks)]
    assert document["comparison"]["benchmarks"] == []


def test_the_document_lists_what_is_missing_and_compares_over_what_all_finished() -> None:
    one = ModelResult("one", [benchmark("molecules.x", {"a": 1.0, "b": 0.0}), benchmark("general.y", {"c": 0.4})])
    two = ModelResult("two", [benchmark("molecules.x", {"a": 0.6, "b": None})], not_run=[Gap("general.y", Why.NOT_RUN)])
    document = strictly(score_document([one, two], "smoke"))
    first, second = document["models"]
    assert (first["score"], first["missing"], first["benchmark_coverage"]) == (pytest.approx(0.45), [], [2, 2])
    assert (second["score"], second["benchmark_coverage"]) == (pytest.approx(0.6), [1, 2])
    assert second["missing"] == ["general.y"]
    assert second["gaps"] == [{"benchmark": "general.y", "why": "not run", "reason": ""}]
    assert first["categories"]["molecules"] == {
        "score": 0.5, "stderr": 0.5, "coverage": [2, 2], "benchmark_coverage": [1, 1], "passed": None
    }  # fmt: skip
    comparison = document["comparison"]
    assert comparison["benchmarks"] == ["molecules.x"]
    assert [(m["name"], m["score"]) for m in comparison["models"]] == [("one", 1.0), ("two", 0.6)]
    assert comparison["models"][0]["categories"] == {"molecules": {"score": 1.0, "stderr": None}}
    assert comparison["models"][0]["benchmarks"]["molecules.x"] == {"score": 1.0, "stderr": None, "cases": ["a"]}
    assert comparison["left_out"] == [{"benchmark": "general.y", "why": "not run", "reason": "not run by two"}]
    assert score_document([one], "smoke")["comparison"] is None
    assert "composite" not in first


def test_the_composite_is_in_the_document_of_each_model() -> None:
    model = ModelResult("m", [benchmark("molecules.tautomers", {"a": 0.5}), benchmark("general.stability", {"b": 1.0})])
    (row,) = strictly(score_document([model], "smoke", composite=True))["models"]
    composite = row["composite"]
    assert (composite["name"], composite["score"], composite["n"], composite["of"]) == ("paper", 0.75, 2, 14)
    assert composite["benchmarks"]["molecules.tautomers"] == {
        "title": "Tautomers", "score": 0.5, "literal_score": 0.5
    }  # fmt: skip
    assert len(composite["missing"]) == 12
    assert composite["missing"][0] == {
        "title": "Reference geometry stability", "benchmark": "molecules.reference_geometry", "why": "not run",
        "reason": "",
    }  # fmt: skip
