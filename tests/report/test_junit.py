"""JUnit files say what the checks say, whatever characters a message has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.api import Report
from assay.errors import AssayError
from assay.observation import Observation, Verdict
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.report.junit import write_junit
from assay.report.verdict import FAIL_ON, GRADED, exit_code
from assay.results import ModelResult
from verdicts import EVIL, result, verdict

PASSED = {OK: True, FAILED: False, ERROR: None, UNSUPPORTED: None}
GRADED_FAILURE = verdict("verification.g", FAILED, False, mandatory=False, comment="jumps")
MANDATORY_FAILURE = verdict("verification.m", FAILED, False)
LOST = verdict("verification.l", ERROR, None)
SOUND = verdict("verification.s")


def with_lost_cases(found: Verdict) -> ModelResult:
    """A model with one check that has a verdict, and one case of it that was lost."""
    made = result(found)
    lost = [*made.benchmarks[0].observations, Observation("lost", ERROR, reason="the worker died")]
    return replace(made, benchmarks=[replace(made.benchmarks[0], observations=lost, case_scores=[None, None])])


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
        "failures": sum(v.status == FAILED and v.mandatory for v in verdicts),
        "errors": 0,
        "skipped": sum(v.status == UNSUPPORTED for v in verdicts),
    }
    assert counts["failures"] >= 1
    assert [case.attrib["name"] for case in suite] == [v.name for v in verdicts]
    failed = {case.attrib["name"] for case in suite if case.find("failure") is not None}
    assert failed == {v.name for v in verdicts if v.status == FAILED and v.mandatory}
    assert suite.find("testcase[@name='verification.rotation_invariance']/failure") is None


@pytest.mark.parametrize(
    ("status", "tag"), [(FAILED, "failure"), (ERROR, "error"), (UNSUPPORTED, "skipped"), (OK, "system-out")]
)
def test_each_status_has_its_tag(status: str, tag: str, tmp_path: Path) -> None:
    write_junit(result(verdict("verification.x", status, PASSED[status])), tmp_path / "junit.xml")
    (case,) = parsed(tmp_path / "junit.xml")
    (child,) = case
    assert child.tag == tag
    assert "fine" in (child.attrib.get("message") or child.text or "")


@pytest.mark.parametrize("fail_on", FAIL_ON)
@pytest.mark.parametrize(
    "model",
    [
        result(SOUND),
        result(SOUND, GRADED_FAILURE),
        result(SOUND, MANDATORY_FAILURE),
        result(SOUND, LOST),
        result(LOST, GRADED_FAILURE),
        result(LOST, MANDATORY_FAILURE),
        with_lost_cases(GRADED_FAILURE),
        with_lost_cases(MANDATORY_FAILURE),
        replace(result(LOST), benchmarks=[replace(result(LOST).benchmarks[0], name="mine.lattice", verdict=None)]),
    ],
    ids=["sound", "graded", "mandatory", "lost", "lost, graded", "lost, mandatory", "some lost, graded",
         "some lost, mandatory", "no check"],
)  # fmt: skip
def test_the_file_says_what_the_exit_code_says(model: ModelResult, fail_on: str, tmp_path: Path) -> None:
    write_junit(model, tmp_path / "junit.xml", fail_on)
    suite = parsed(tmp_path / "junit.xml")
    failures, errors = len(suite.findall("testcase/failure")), len(suite.findall("testcase/error"))
    assert (suite.attrib["failures"], suite.attrib["errors"]) == (str(failures), str(errors))
    assert exit_code(model, fail_on) == (1 if failures else 3 if errors else 0)


def test_a_failed_graded_check_is_a_failure_only_where_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    write_junit(result(SOUND, GRADED_FAILURE), path, GRADED)
    assert [(case.attrib["name"], child.tag) for case in parsed(path) for child in case][1] == (
        "verification.g",
        "failure",
    )
    write_junit(result(SOUND, GRADED_FAILURE), path)
    (passed,) = parsed(path).findall("testcase[@name='verification.g']/system-out")
    assert "jumps" in str(passed.text)
    assert "--fail-on graded" in str(passed.text)


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
