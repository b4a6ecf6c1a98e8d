"""Deterministic: a model that fails only now and then fails the check, wherever in the run the bad call falls."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from assay.api import run
from assay.benchmarks.bases.steady import CALLS, many_calls, unanswered
from assay.compute.probes import steady
from assay.jobs import Probe
from assay.sabotage.sound import CopperGold, Values
from toys import CLUSTERS, Spring, engine_of, sabotaged

COPPER = (29,)


class SometimesNan(CopperGold):
    """NaN with a probability of one in fifty, in any process and any calculator."""

    random = np.random.default_rng(3)

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=values.forces * np.nan) if self.random.random() < 0.02 else values


@pytest.mark.parametrize("offset", [0, 7, 14, 21, 28, 35, 42, 49])
@pytest.mark.parametrize("model", ["nan_now_and_then", "refuses_now_and_then"])
def test_one_bad_call_of_fifty_is_found_wherever_it_falls(model: str, offset: int) -> None:
    engine = sabotaged(model)
    engine.calculator.calls = offset  # type: ignore[attr-defined]
    (job,) = many_calls(CLUSTERS).jobs.values()
    assert isinstance(job, Probe)
    values = steady.run(engine, job)
    assert (values["calls"], values["missing"]) == (CALLS, 4)
    assert unanswered(values).ratio == np.inf


@pytest.mark.parametrize("model", ["nan_now_and_then", "refuses_now_and_then"])
def test_a_model_with_one_element_has_enough_calls_to_fail(model: str) -> None:
    report = run(f"assay.sabotage:{model}", benchmarks=["verification.deterministic"], workers=0, elements=COPPER)
    found = report.checks["deterministic"]
    assert (found["passed"], found["grade"]) == (False, "F")
    assert "many-calls" in found["comment"]
    assert not report.passed


def test_nan_by_chance_fails() -> None:
    report = run(SometimesNan, benchmarks=["verification.deterministic"], workers=0, elements=COPPER)
    assert report.checks["deterministic"]["passed"] is False


def test_a_sound_model_answers_every_call() -> None:
    values = steady.run(engine_of(Spring), Probe("steady", CLUSTERS, {"calls": 20}))
    assert values == {"calls": 20, "missing": 0, "invalid": 0, "reason": ""}
    assert unanswered(values).ratio == 0.0
