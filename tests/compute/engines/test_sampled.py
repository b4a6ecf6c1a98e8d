"""Derivatives from batches: the verdict is about the calculator, whatever the batch of the model is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from ase import Atoms

from assay.api import run_suite
from assay.benchmarks.bases.derivative import ladder_cases
from assay.benchmarks.registry import registered_benchmarks
from assay.compute.worker import Engines
from assay.configurations import cluster
from assay.jobs import SinglePoints, job_key
from assay.model import Model
from assay.models.loading import from_object
from assay.outcome import Outcome
from assay.remarks import batch_remarks
from assay.results import ModelResult
from assay.sabotage import BROKEN, CopperGold, SinglePrecision
from assay.settings import Settings
from assay.structure import Floats, Structure

Answers = list[tuple[float, Floats]]


class Batch:
    """The batch evaluator of a calculator, with the number of structures that it has computed."""

    def __init__(self, kind: type[CopperGold], change: Callable[[Answers], Answers] = list) -> None:
        self.kind, self.change, self.count = kind, change, 0

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        self.count += len(structures)
        calculator = self.kind()
        return self.change([calculator.evaluate(s.to_atoms())[:2] for s in structures])


def model_of(kind: type[CopperGold], batch: Batch) -> Model:
    return replace(from_object(kind), build_batch=lambda: batch)


def ladder() -> SinglePoints:
    """The displacements of one cluster, as the checks of derivatives ask for them."""
    survey = SimpleNamespace(
        clusters=lambda: [("CuAu", cluster((29, 79)))], crystals=lambda _: [], periodic_patterns=()
    )
    (case,) = ladder_cases(survey)  # type: ignore[arg-type]
    job = case.jobs["ladder"]
    assert isinstance(job, SinglePoints)
    return job


def outcome_of(model: Model, job: SinglePoints) -> Outcome:
    return Engines(model).run_alone("key", job)


class Counted(CopperGold):
    calls = 0

    def evaluate(self, atoms: Atoms) -> tuple[float, Floats, Floats | None]:
        Counted.calls += 1
        return super().evaluate(atoms)


def test_the_calculator_computes_the_sample_and_the_batch_the_rest() -> None:
    job, batch = ladder(), Batch(CopperGold)
    assert len(job.sample) < 0.1 * len(job.structures)
    Counted.calls = 0
    outcome = outcome_of(model_of(Counted, batch), job)
    assert Counted.calls == len(job.sample)
    assert batch.count == len(job.structures)
    exact = outcome_of(from_object(CopperGold), job)
    for point, expected in zip(outcome.points(), exact.points(), strict=True):
        assert point.energy == pytest.approx(expected.energy, rel=1e-14)
        np.testing.assert_allclose(point.forces, expected.forces, atol=1e-12)
    assert outcome.provenance["batch"] == {"structures": 288, "alone": 1, "compared": len(job.sample)}
    assert not batch_remarks([outcome])


def test_the_sample_has_every_step_and_every_atom() -> None:
    job = ladder()
    base = job.structures[0].positions
    moves = [job.structures[i].positions - base for i in job.sample]
    assert not moves[0].any()
    assert {round(float(np.abs(m).max()), 9) for m in moves[1:]} == {round(0.032 / 3**k, 9) for k in range(8)}
    assert {int(np.abs(m).max(axis=1).argmax()) for m in moves[1:]} == set(range(len(base)))


def test_the_sample_is_not_part_of_the_key_so_that_earlier_results_count() -> None:
    job = ladder()
    assert job_key(job, "model") == job_key(replace(job, sample=()), "model")


def shifted(answers: Answers) -> Answers:
    return [(energy + 1e-9 * i, forces) for i, (energy, forces) in enumerate(answers)]


def stiffer(answers: Answers) -> Answers:
    return [(energy, 1.0001 * forces) for energy, forces in answers]


def refused(answers: Answers) -> Answers:
    raise ValueError("no batches today")


@pytest.mark.parametrize(
    ("change", "words"), [(shifted, "change of the energy"), (stiffer, "change of the forces"), (refused, "no batches")]
)
def test_where_the_batch_differs_the_calculator_computes_all_and_that_is_reported(
    change: Callable[[Answers], Answers], words: str
) -> None:
    job = ladder()
    outcome = outcome_of(model_of(CopperGold, Batch(CopperGold, change)), job)
    exact = outcome_of(from_object(CopperGold), job)
    assert [p.energy for p in outcome.points()] == [p.energy for p in exact.points()]
    (remark,) = batch_remarks([outcome])
    assert words in remark
    assert "289 structures" in remark


def test_energies_are_rounded_as_the_calculator_rounds_them() -> None:
    outcome = outcome_of(model_of(SinglePrecision, Batch(CopperGold)), ladder())
    assert outcome.provenance["batch"]["structures"] == 288
    assert all(float(np.float32(p.energy)) == p.energy for p in outcome.points())


def checked(model: Model, *benchmarks: str) -> ModelResult:
    return run_suite(model, benchmarks=benchmarks, settings=Settings(workers=0)).result


CHECKS = ("verification.forces_match_energy", "verification.forces_conservative", "verification.energy_smooth")
CAUGHT = [(check, name) for check in CHECKS for name in registered_benchmarks()[check].catches]


@pytest.mark.parametrize(("check", "name"), CAUGHT)
def test_a_broken_calculator_with_a_sound_batch_is_still_caught(check: str, name: str) -> None:
    (verdict,) = checked(model_of(BROKEN[name].build, Batch(CopperGold)), check).verdicts
    assert verdict.passed is False


def test_a_sound_calculator_with_a_broken_batch_still_passes() -> None:
    for check, name in ((CHECKS[0], "scaled_forces"), (CHECKS[0], "frozen"), (CHECKS[2], "discontinuous_at_cutoff")):
        result = checked(model_of(CopperGold, Batch(BROKEN[name].build)), check)
        assert [verdict.passed for verdict in result.verdicts] == [True]
        assert "batches were given up" in " ".join(result.warnings)
