"""Documents, tables and files say what the results say, to people, to programs and to strangers' software."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from ase.io import read
from rich.console import Console

from assay.api import Report, Settings, surveyed
from assay.benchmark import MetricValue, Observation
from assay.benchmarks.bases.check import Verdict
from assay.cli.configs import write_configurations
from assay.cli.listing import listing
from assay.cli.progress import progress_bar
from assay.errors import AssayError
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.report.csv import COLUMNS, print_csv
from assay.report.document import check_document, score_document
from assay.report.junit import write_junit
from assay.report.table import as_html, as_text, print_scores, summary_line
from assay.report.text import text_report
from assay.results import BenchmarkResult, ModelResult
from assay.settings import silent

CHECK = {
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "comment",
}  # fmt: skip
MODEL = {"name", "score", "stderr", "coverage", "categories", "benchmarks"}
BENCHMARK = {"name", "version", "score", "stderr", "coverage", "metrics", "cases"}
METRIC = {"name", "value", "stderr", "unit", "threshold", "score"}
CASE = {"id", "status", "values", "score", "reason"}
EVIL = "<script>alert('x')</script> & \"quotes\" ]]> [bold]not bold[/bold]"


def strictly(document: object) -> Any:
    """The document after a strict JSON writer and reader; fails on NaN and infinity."""

    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(json.dumps(document, allow_nan=False), parse_constant=refuse)


def verdict(name: str, status: str = OK, passed: bool | None = True, **changes: Any) -> Verdict:
    usual: dict[str, Any] = {
        "mandatory": True, "grade": "A", "error": 1e-9, "unit": "eV", "tolerance": 1e-6, "evaluated": 3, "refused": 0,
        "skipped": 0, "comment": "fine", "where": "Cu-cluster", "why": "as it is", "floor": 1e-12,
    }  # fmt: skip
    return Verdict(name, status, passed, **{**usual, **changes})


def result(*verdicts: Verdict, name: str = "model") -> ModelResult:
    """A model with one benchmark for each verdict."""
    rows = [
        BenchmarkResult(v.name, 1, None, None, (0, 1), [], [Observation("case", v.status)], [None], v) for v in verdicts
    ]
    return ModelResult(name, rows)


@pytest.fixture
def hostile() -> ModelResult:
    """A model whose names and comments are not meant well."""
    bad = verdict("verification.net_force_zero", FAILED, False, comment=EVIL, where=EVIL, grade="F")
    return result(bad, verdict("verification.thread_safe", UNSUPPORTED, None, comment=EVIL), name=EVIL)


@pytest.fixture
def not_finite() -> ModelResult:
    """A model with numbers that JSON does not have."""
    bad = verdict("verification.net_force_zero", FAILED, False, error=np.inf, tolerance=np.nan, floor=-np.inf)
    row = BenchmarkResult(
        "verification.net_force_zero",
        1,
        float("nan"),
        float("inf"),
        (1, 1),
        [MetricValue("m", np.nan, np.inf, "eV", 1.0, -np.inf)],
        [Observation("case", OK, {"m": np.float64("nan"), "n": np.float32("inf")})],
        [float("nan")],
        bad,
    )
    return ModelResult("model", [row], {"survey": {"noise": np.array([np.nan])}})


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


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_that_a_model_says_becomes_html(hostile: ModelResult) -> None:
    page = as_html(hostile)
    assert "<script" not in page
    tags = Tags()
    tags.feed(page)
    assert tags.tags == {"table", "thead", "tbody", "tr", "th", "td", "p"}
    assert tags.text.count(EVIL) == 3  # two comments and the name


def test_nothing_that_a_model_says_becomes_colour_or_layout(hostile: ModelResult) -> None:
    assert as_text(hostile, width=400).count(EVIL) == 4  # title, two comments, summary
    stream = io.StringIO()
    print_scores([hostile], "[red]suite[/red]", Console(file=stream, width=400))
    assert "[red]suite[/red]" in stream.getvalue()
    assert EVIL in stream.getvalue()


def test_the_table_has_a_line_for_every_check(sound_report: Report) -> None:
    text = as_text(sound_report.result)
    assert text == str(sound_report)
    for row in sound_report.result.verdicts:
        name = row.name.rpartition(".")[2] + ("*" if row.mandatory else "")
        assert re.search(rf"│ {re.escape(name)} +│ +(pass|—) ", text)
    assert summary_line(sound_report.result) in text.replace("\n", " ")
    assert "works in float64; noise floor" in text


def test_the_table_shows_what_failed(broken_report: Report) -> None:
    text = as_text(broken_report.result)
    assert re.search(r"forces_match_energy\* +│ +FAIL +│ +F +│", text)
    assert "is NOT sound: forces_match_energy" in text


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ([verdict("a.b")], "model passes all mandatory checks. (1 passed, 0 failed, 0 not applicable; * must pass)"),
        ([verdict("a.b"), verdict("a.c", FAILED, False)], "model is NOT sound: c. (1 passed, 1 failed,"),
        ([verdict("a.b"), verdict("a.c", ERROR, None)], "model: no verdict, some checks are not finished. (1 passed,"),
        (
            [verdict("a.b"), verdict("a.c", UNSUPPORTED, None)],
            "model passes all mandatory checks. (1 passed, 0 failed, 1",
        ),
        ([verdict("a.b"), verdict("a.c", FAILED, False, mandatory=False)], "model passes all mandatory checks."),
        ([verdict("a.b", mandatory=False)], "model: no mandatory check was asked for. (1 passed, 0 failed,"),
    ],
)
def test_one_line_says_whether_the_model_is_sound(verdicts: list[Verdict], words: str) -> None:
    assert summary_line(result(*verdicts)).startswith(words)


def test_scores_of_several_models_stand_side_by_side(sound_report: Report, broken_report: Report) -> None:
    fewer = replace(broken_report.result, benchmarks=broken_report.result.benchmarks[1:])
    stream = io.StringIO()
    print_scores([sound_report.result, fewer], "smoke", Console(file=stream, width=150, no_color=True))
    lines = {line.split("│")[1].strip(): line for line in stream.getvalue().splitlines() if line.startswith("│")}
    assert "not run" in lines[broken_report.result.benchmarks[0].name]  # missing is never a zero
    assert lines["verification.unit_conversion"].count("—") == 2
    assert re.search(r"1\.00.* \(4/4\) │.*0\.00.* \(4/4\) │", lines["verification.forces_match_energy"])
    assert "mean" in lines


def test_the_long_report_has_a_line_for_every_configuration(sound_report: Report, broken_report: Report) -> None:
    for report in (sound_report, broken_report):
        lines = text_report(report.result).splitlines()
        for benchmark in report.result.benchmarks:
            assert any(line.startswith(f"Check {benchmark.name}, version {benchmark.version}") for line in lines)
            for observation in benchmark.observations:
                right = observation.values.get("error_over_tolerance", np.inf) <= 1.0
                word = ("PASS" if right else "FAIL") if "worst" in observation.detail else observation.status.upper()
                assert any(line.startswith(f"{word}: {observation.case},") for line in lines)
        assert lines[-1] == summary_line(report.result)


def test_the_long_report_says_how_many_how_large_and_why(sound_report: Report) -> None:
    text = text_report(sound_report.result)
    part = text[text.index("Check verification.periodicity_support") :]
    part = part[: part.index("Comment        :")]
    for pattern in ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT"):
        assert re.search(rf"^PASS: Cu-{pattern}, \d+ comparisons, worst \S+ of \S+ \S+ at ", part, re.MULTILINE)
    assert "Configurations : 8 evaluated, 0 refused, 0 not applicable" in part
    assert re.search(r"^Tolerance      : \S+ eV \(1e-08 of the energy in float64", part, re.MULTILINE)
    assert re.search(r"^Noise floor    : \d", part, re.MULTILINE)
    assert re.search(r"^Grade          : A$", part, re.MULTILINE)
    assert "doubling" in part.lower()  # what the check asks, from its own description


def test_the_long_report_shows_the_failed_configurations(broken_report: Report) -> None:
    text = text_report(broken_report.result)
    assert re.search(r"^FAIL: Cu-cluster, 1 comparisons, worst not finite .* all forces are zero$", text, re.MULTILINE)
    assert re.search(r"^Result         : FAIL$", text, re.MULTILINE)


def parsed(path: Path) -> ElementTree.Element:
    return ElementTree.parse(path).getroot()


def test_junit_has_a_test_for_every_check(broken_report: Report, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(broken_report.result, path)
    suite = parsed(path)
    verdicts = broken_report.result.verdicts
    assert suite.tag == "testsuite"
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {
        "tests": len(verdicts),
        "failures": sum(v.status == FAILED for v in verdicts),
        "errors": 0,
        "skipped": sum(v.status == UNSUPPORTED for v in verdicts),
    }
    assert counts["failures"] >= 1
    assert [case.attrib["name"] for case in suite] == [v.name for v in verdicts]
    failed = {case.attrib["name"] for case in suite if case.find("failure") is not None}
    assert failed == {v.name for v in verdicts if v.status == FAILED}
    assert suite.find("testcase[@name='verification.rotation_invariance']/failure") is None


@pytest.mark.parametrize(
    ("status", "tag"), [(FAILED, "failure"), (ERROR, "error"), (UNSUPPORTED, "skipped"), (OK, "system-out")]
)
def test_each_status_has_its_tag(status: str, tag: str, tmp_path: Path) -> None:
    write_junit(result(verdict("verification.x", status, None)), tmp_path / "junit.xml")
    (case,) = parsed(tmp_path / "junit.xml")
    (child,) = case
    assert child.tag == tag
    assert "fine" in (child.attrib.get("message") or child.text or "")


def test_nothing_that_a_model_says_becomes_xml(hostile: ModelResult, tmp_path: Path) -> None:
    write_junit(hostile, tmp_path / "junit.xml")
    suite = parsed(tmp_path / "junit.xml")
    assert EVIL in suite.attrib["name"]
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == EVIL


@pytest.mark.parametrize("character", ["\x1b[31m", "\x00", "\x08", "\ufffe", "\ud800"])
def test_control_characters_in_a_message_leave_the_file_readable(character: str, tmp_path: Path) -> None:
    bad = verdict("verification.x", FAILED, False, comment=f"RuntimeError: {character}out of tune")
    write_junit(result(bad), tmp_path / "junit.xml")
    failure = parsed(tmp_path / "junit.xml").find("testcase/failure")
    assert failure is not None
    assert "out of tune" in failure.attrib["message"]


def test_a_junit_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be written") as error:
        write_junit(result(verdict("verification.x")), tmp_path / "nowhere" / "junit.xml")
    assert "nowhere" in str(error.value)
    assert "\n" not in str(error.value)


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
    assert (unknown["score"], unknown["stderr"], unknown["passed"], unknown["grade"]) == ("", "", "", "")


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@SUM(A1)"])
def test_a_spreadsheet_does_not_take_a_name_for_a_formula(name: str) -> None:
    (row,) = rows_of(result(verdict("verification.x"), name=name))
    assert row["model"] == f"'{name}"


def test_names_with_commas_and_quotes_stay_in_their_field() -> None:
    (row,) = rows_of(result(verdict("verification.x"), name='a, "b"\nc'))
    assert row["model"] == 'a, "b"\nc'


def test_configurations_are_written_as_extended_xyz(tmp_path: Path) -> None:
    settings = Settings(workers=0, elements=(29,))
    count = write_configurations("assay.sabotage:sound", settings, tmp_path / "results", tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    patterns = ["FFF", "FFT", "FTF", "FTT", "TFF", "TFT", "TTF", "TTT"]
    assert names == [f"config-Cu-{pattern}.xyz" for pattern in patterns]
    assert count == 8
    survey = surveyed("assay.sabotage:sound", tmp_path / "results", settings)
    ((_, crystal),) = survey.crystals("TTF")
    atoms = read(tmp_path / "out" / "config-Cu-TTF.xyz")
    assert atoms.pbc.tolist() == [True, True, False]
    np.testing.assert_allclose(atoms.positions, crystal.positions, atol=1e-7)
    np.testing.assert_allclose(atoms.cell.array, crystal.cell, atol=1e-7)


def test_a_folder_for_configurations_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(AssayError, match="cannot be made"):
        write_configurations("emt", Settings(workers=0), tmp_path / "results", tmp_path / "out")


def test_lists_name_everything_there_is() -> None:
    assert [row["name"] for row in listing("suites")] == ["laptop", "paper", "smoke"]
    models = {row["name"]: row for row in listing("models")}
    assert {"emt", "lj", "gfn1-xtb", "gfn2-xtb", "kim:NAME", "file.py:factory"} <= set(models)
    assert models["emt"]["installed"] is True
    benchmarks = {row["name"]: row for row in listing("benchmarks")}
    assert benchmarks["verification.forces_match_energy"]["mandatory"] is True
    assert benchmarks["verification.memory_stable"]["mandatory"] is False
    for row in benchmarks.values():
        assert len(str(row["line"])) > 20
        assert "\n" not in str(row["line"])
    for what in ("models", "benchmarks", "suites"):
        strictly(listing(what))


def test_a_list_that_does_not_exist_is_one_sentence() -> None:
    with pytest.raises(AssayError, match="there is no list of 'colours'; there are models, benchmarks, suites"):
        listing("colours")


def test_a_model_that_is_not_installed_is_listed_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    models = {row["name"]: row for row in listing("models")}
    assert "[not installed: pip install 'mlip-assay[xtb]']" in str(models["gfn2-xtb"]["line"])


def test_progress_goes_to_standard_error_and_only_where_somebody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("model", enabled=False) as progress:
        assert progress is silent
        progress(1, 2, "benchmarks")
    assert capsys.readouterr() == ("", "")
    with progress_bar("[red]model", enabled=True) as progress:
        for done in (0, 5, 10):
            progress(done, 10, "elements")
        progress(1, 3, "benchmarks")
    assert capsys.readouterr().out == ""
