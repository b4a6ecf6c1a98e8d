"""The comment of a check gives every kind of reason, the worst failure first, and nothing for a plain pass."""

from __future__ import annotations

from typing import Any

from assay.benchmarks.bases.check import Check
from assay.observation import Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED


def compared(case: str, ratio: float, reason: str = "") -> Observation:
    worst: dict[str, Any] = {"where": case, "error": ratio, "unit": "eV", "tolerance": 1.0, "floor": 0.1, "why": "so"}
    return Observation(case, OK, {"error_over_tolerance": ratio}, reason, {"worst": worst})


def comment(*observations: Observation) -> str:
    return Check().verdict(observations).comment


def test_every_kind_of_failure_is_told_and_the_worst_comes_first() -> None:
    text = comment(
        compared("Al-cluster", 2.0, "force jump at 4.1 Å: 2 eV, allowed 1"),
        compared("Cu-Cu", 3.0, "energy jump at a Cu–Cu distance of 5.1 Å: 3 eV, allowed 1"),
        compared("Al-Al", 9.0, "energy jump at an Al–Al distance of 5.9 Å: 9 eV, allowed 1"),
        Observation("Ni-Ni", FAILED, reason="ValueError: too close", cause="refused"),
        Observation("Pt-Pt", FAILED, reason="the model has no table for Pt", cause="refused"),
        Observation("Au-Au", ERROR, reason="no answer within 41 s", cause="worker_lost"),
        Observation("Ag-Ag", ERROR, reason="not enough memory", cause="out_of_memory"),
    )
    assert text == (
        "fails for Al-Al, Cu-Cu: for example Al-Al: energy jump at an Al–Al distance of 5.9 Å: 9 eV, allowed 1; "
        "fails for Al-cluster: force jump at 4.1 Å: 2 eV, allowed 1; "
        "refused Ni-Ni (ValueError: too close); refused Pt-Pt (the model has no table for Pt); "
        "not finished for Ag-Ag (not enough memory); not finished for Au-Au (no answer within 41 s)"
    )


def test_a_pass_needs_no_comment_whatever_its_letter() -> None:
    assert comment(compared("Cu-cluster", 0.9)) == ""
    assert comment(compared("Cu-cluster", 0.0)) == ""


def test_a_check_that_does_not_apply_tells_every_reason() -> None:
    stress = Observation("stress", UNSUPPORTED, reason="the model has no stress")
    periodic = Observation("periodic", UNSUPPORTED, reason="the model does not support periodic systems")
    assert comment(periodic, stress) == "the model does not support periodic systems; the model has no stress"
