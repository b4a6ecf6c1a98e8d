"""The long report, configuration by configuration."""

from __future__ import annotations

import re

import numpy as np

from assay.api import Report
from assay.report.text import text_report
from assay.report.verdict import summary_line


def test_the_long_report_has_a_line_for_every_configuration(sound_report: Report, broken_report: Report) -> None:
    for report in (sound_report, broken_report):
        lines = text_report(report.result).splitlines()
        for benchmark in report.result.benchmarks:
            assert any(line.startswith(f"Check {benchmark.name}, version {benchmark.version}") for line in lines)
            for observation in benchmark.observations:
                right = observation.values.get("error_over_tolerance", np.inf) <= 1.0
                word = ("PASS" if right else "FAIL") if "worst" in observation.detail else observation.status.upper()
                assert any(line.startswith(f"{word}: {observation.case},") for line in lines)
        end = lines[lines.index(summary_line(report.result)) + 1 :]
        failed = [v for v in report.result.verdicts if v.status == "failed"]
        told = [f"FAIL {v.name.partition('.')[2]}: {v.comment}" for v in failed]
        assert " ".join(" ".join(end).split()) == " ".join(told)


def test_the_long_report_says_how_many_how_large_and_why(sound_report: Report) -> None:
    text = text_report(sound_report.result)
    part = text[text.index("Check verification.periodicity_support") :]
    part = part[: part.index("Comment        :")]
    for pattern in ("TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT"):
        assert re.search(rf"^PASS: Cu-{pattern}, \d+ comparisons, worst \S+ of \S+ \S+ at ", part, re.MULTILINE)
    assert "Configurations : 8 evaluated, 0 refused, 0 not applicable" in part
    assert re.search(r"^Tolerance      : \S+ eV \(1e-08 of the energy of binding in float64", part, re.MULTILINE)
    assert re.search(r"^Noise floor    : \d", part, re.MULTILINE)
    assert re.search(r"^Grade          : A$", part, re.MULTILINE)
    assert "doubling" in part.lower()  # what the check asks, from its own description


def test_the_long_report_shows_the_failed_configurations(broken_report: Report) -> None:
    text = text_report(broken_report.result)
    assert re.search(r"^FAIL: Cu-cluster, 1 comparisons, worst not finite .* all forces are zero$", text, re.MULTILINE)
    assert re.search(r"^Result         : FAIL$", text, re.MULTILINE)
