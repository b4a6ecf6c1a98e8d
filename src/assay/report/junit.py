"""The checks as JUnit XML, which every continuous-integration service shows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from assay.errors import AssayError
from assay.observation import Verdict
from assay.results import ModelResult


def write_junit(result: ModelResult, path: Path) -> None:
    """One test case for each check: failed, errored, skipped or passed."""
    verdicts = result.verdicts
    count = {
        status: str(sum(1 for v in verdicts if v.status == status)) for status in ("failed", "error", "unsupported")
    }
    suite = ElementTree.Element(
        "testsuite",
        name=_printable(f"assay check {result.name}"),
        tests=str(len(verdicts)),
        failures=count["failed"],
        errors=count["error"],
        skipped=count["unsupported"],
    )
    for verdict in verdicts:
        _add_case(suite, verdict, result.name)
    ElementTree.indent(suite)
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise AssayError(f"the JUnit file '{path}' cannot be written ({error.strerror}); give another path") from error


def _add_case(suite: ElementTree.Element, verdict: Verdict, model: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_printable(model), name=verdict.name)
    tags = {"failed": "failure", "error": "error", "unsupported": "skipped"}
    if verdict.status in tags:
        ElementTree.SubElement(case, tags[verdict.status], message=_printable(verdict.comment))
    else:
        ElementTree.SubElement(case, "system-out").text = _printable(f"grade {verdict.grade}: {verdict.comment}")


def _printable(text: str) -> str:
    """The text without characters that XML cannot hold, such as the colours of a terminal."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
