"""The audit of the benchmarks of molecules: broken models score next to nothing, the sound one and the oracle score 1.

Broken models are tried through real jobs on data of the sound potential itself; the oracle on the embedded sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from assay.api import run
from assay.benchmark import Case, Scope, observe_case, planned_cases, with_null
from assay.benchmarks.bases.records import RecordBenchmark
from assay.compute.protocols.null import null_outcome
from assay.data.dataset import DataSet, Record
from assay.data.source import DataSource
from assay.jobs import Band, Job, Relaxation, SinglePoints
from assay.outcome import OK, Outcome, Point, pack_points
from assay.results import BenchmarkResult
from assay.sabotage.data import write_sound_data
from assay.units import KCAL
from molecule_cases import NAMES, benchmark, survey

HOPELESS = ("zero_force", "constant_energy", "frozen", "pure_noise", "wrong_units", "mixed_units", "raises")
RANDOM, FEW = "pure_noise", 3
"""A model of random numbers may be lucky in up to this number of cases: then the benchmark cannot tell."""

EVERYTHING = survey(tuple(range(1, 90)), charge=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sound_data(tmp_path_factory.mktemp("sound"))


def results(model: str, folder: Path) -> Mapping[str, BenchmarkResult]:
    report = run(
        f"assay.sabotage:{model}", benchmarks=[f"molecules.{name}" for name in NAMES], data=str(folder), workers=0
    )
    return {b.name.partition(".")[2]: b for b in report.result.benchmarks}


@pytest.mark.parametrize("model", ["sound", "single_precision", "sound_batch"])
def test_the_sound_potential_is_right_about_itself(model: str, folder: Path) -> None:
    found = results(model, folder)
    assert set(found) == set(NAMES)
    for result in found.values():
        assert list(result.case_scores) == [1.0] * len(result.observations)
        assert result.skill == 1.0
        assert [source["name"][:6] for source in result.data] == ["sound-"]


@pytest.mark.parametrize("model", HOPELESS)
def test_broken_models_score_next_to_nothing(model: str, folder: Path) -> None:
    for name, result in results(model, folder).items():
        assert result.score is not None
        lucky = model == RANDOM and result.coverage[1] <= FEW
        assert lucky or result.score <= 0.1, (name, [o.reason for o in result.observations])
        assert result.coverage[0] == result.coverage[1] > 0
        assert not [o.reason for o in result.observations if o.reason.startswith("observing failed")]


@pytest.mark.parametrize("model", ["too_stiff", "too_soft"])
def test_wrong_physics_is_told_from_the_right_one(model: str, folder: Path) -> None:
    for result in results(model, folder).values():
        assert result.score is not None
        assert result.score <= 0.3


def embedded(name: str) -> list[DataSet]:
    asked = benchmark(name)
    assert isinstance(asked, RecordBenchmark)
    return DataSource().read(asked.kind, asked.use)


def oracle(job: Job, record: Record) -> Outcome:
    """What a model that agrees with the reference in everything would make of a job."""
    match job:
        case SinglePoints():
            return Outcome(
                "key", OK, pack_points([_known(s, record) for s in job.structures], [len(s) for s in job.structures])
            )
        case Relaxation():
            start, rest = _energy(job.structure.positions, record), _energy(record.structures[0].positions, record)
            return Outcome("key", OK, {
                "natoms": len(job.structure), "positions": record.structures[0].positions, "energy": rest, "steps": 5,
                "converged": True, "energies": np.array([start, rest]), "start_energy": start, "max_force": 0.0,
            })  # fmt: skip
        case Band():
            stops = (job.start, job.through, job.end)
            energies = np.array([_energy(s.positions, record) for s in stops if s is not None])
            return Outcome("key", OK, {
                "natoms": len(job.start), "positions": np.array([s.positions for s in stops if s is not None]),
                "energies": energies, "top": 1, "barrier": energies[1] - energies[0], "steps": 5, "converged": True,
                "reaction_energy": energies[2] - energies[0], "max_force": 0.01, "ends_converged": [True, True],
            })  # fmt: skip
    raise AssertionError(f"nobody asks for {type(job).__name__} jobs here")


def _energy(positions: np.ndarray, record: Record) -> float:
    """The reference, or that of stiff springs around it."""
    for place, structure in enumerate(record.structures):
        if structure.positions.shape == positions.shape and np.array_equal(structure.positions, positions):
            return record.energies[place] if record.energies is not None else 0.0
    whole = record.structures[0].positions
    return 10.0 * float(((positions - whole) ** 2).sum()) if whole.shape == positions.shape else 0.0


def _known(structure, record: Record) -> Point:
    energy = _energy(structure.positions, record) + (1.0 if structure.charge else 0.0)
    return Point(energy, np.ones((len(structure), 3)))


def every_case(name: str) -> list[tuple[Case, Record]]:
    records = [record for data in embedded(name) for record in data.records]
    cases = list(planned_cases(benchmark(name), Scope(EVERYTHING)))
    assert len(cases) == len(records) > 0
    return list(zip(cases, records, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_oracle_scores_one_on_every_embedded_record(name: str) -> None:
    asked = benchmark(name)
    for case, record in every_case(name):
        assert not case.unsupported, (case.id, case.unsupported)
        seen = observe_case(asked, case, {role: oracle(job, record) for role, job in case.jobs.items()})
        assert asked.case_score(seen) == 1.0, (case.id, seen.reason, seen.values)


@pytest.mark.parametrize("name", NAMES)
def test_constant_energy_and_no_forces_fail_on_every_embedded_record(name: str) -> None:
    asked = benchmark(name)
    for case, _ in every_case(name)[:6]:
        seen = observe_case(asked, case, {role: null_outcome(job) for role, job in case.jobs.items()})
        assert seen.status == "failed"
        assert asked.case_score(seen) == 0.0


def test_the_null_model_keeps_what_the_thresholds_give_away() -> None:
    """Weakly bound complexes are within 1 kcal/mol of no interaction at all: a score of 1 there shows nothing."""
    asked = benchmark("noncovalent_interactions")
    for case, record in every_case("noncovalent_interactions"):
        null = with_null(asked, case, {role: null_outcome(job) for role, job in case.jobs.items()}).context["null"]
        curve = KCAL * np.array(record.energies)
        depth = abs(curve.min() - curve[-1])
        assert null["values"]["interaction_energy_error"] == pytest.approx(depth)
        assert (null["score"] == 1.0) is bool(depth <= 1.0)
