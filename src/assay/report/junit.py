"""The checks as JUnit XML, which every continuous-integration service shows."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from assay.errors import AssayError
from assay.outcome import ERROR, UNSUPPORTED
from assay.reasons import sentences
from assay.report.cells import safe
from assay.report.problems import reasons_of
from assay.report.verdict import MANDATORY, counts_as_failure
from assay.results import BenchmarkResult, ModelResult

FAILURE, LOST, SKIPPED, PASSED = "failure", "error", "skipped", "system-out"
"""The tags of a test case; one with the last has passed, and its text is printed."""


def write_junit(result: ModelResult, path: Path, fail_on: str = MANDATORY) -> None:
    """Write one test case for each check or benchmark: failed, errored, skipped or passed, as the exit code says.

    There is a failure if, and only if, the exit code is 1, and without failures there is an error if, and only if, it
    is 3. A check that failed and does not count for the exit code has passed, with the reason as its output.
    """
    cases = [(benchmark, *_judged(benchmark, fail_on)) for benchmark in result.benchmarks]
    tags = [tag for _, tag, _ in cases]
    suite = ElementTree.Element(
        "testsuite",
        name=safe(f"assay check {result.name}"),
        tests=str(len(cases)),
        failures=str(tags.count(FAILURE)),
        errors=str(tags.count(LOST)),
        skipped=str(tags.count(SKIPPED)),
    )
    for benchmark, tag, message in cases:
        _add_case(suite, result.name, benchmark.name, tag, message)
    ElementTree.indent(suite)
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise AssayError(f"the JUnit file '{path}' cannot be written ({error.strerror}); give another path") from error


def _judged(benchmark: BenchmarkResult, fail_on: str) -> tuple[str, str]:
    """The tag of a test case and its message."""
    verdict, lost = benchmark.verdict, reasons_of(benchmark.observations, ERROR)
    if verdict is not None and counts_as_failure(verdict, fail_on):
        return FAILURE, verdict.comment
    if lost:
        return LOST, verdict.comment if verdict is not None else sentences(lost)
    if verdict is None:
        return PASSED, "no score" if benchmark.score is None else f"score {benchmark.score:.2f}"
    if verdict.status == UNSUPPORTED:
        return SKIPPED, verdict.comment
    if verdict.passed is False:
        return PASSED, f"failed, which does not count without --fail-on graded: {verdict.comment}"
    return PASSED, f"grade {verdict.grade}" + (f": {verdict.comment}" if verdict.comment else "")


def _add_case(suite: ElementTree.Element, model: str, name: str, tag: str, message: str) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=safe(model), name=safe(name))
    if tag == PASSED:
        ElementTree.SubElement(case, tag).text = safe(message)
    else:
        ElementTree.SubElement(case, tag, message=safe(message))  # XML cannot hold the colours of a terminal
