"""JUnit files say what the checks say, whatever characters a message has."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.api import Report
from assay.errors import AssayError
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED
from assay.report.junit import write_junit
from assay.results import ModelResult
from verdicts import EVIL, result, verdict


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
