"""Runs that last and runs that do not, from the simulation to the score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Benchmark, Observation, Scope, observe_case, planned_cases
from assay.benchmarks.registry import registered_benchmarks
from assay.data.dataset import Record
from assay.data.embedded import defaults
from assay.data.source import DataSource
from assay.jobs import Dynamics
from assay.outcome import Outcome
from assay.structure import Floats, Structure
from molecule_cases import Model, embedded_lane, source, survey
from run_cases import HOPELESS, observe_runs, run_case, springs

# methanol-like: C, O, then hydrogens; held by springs between all atoms
REST = np.array(
    [[0.0, 0.0, 0.0], [1.42, 0.0, 0.0], [-0.37, 1.02, 0.0], [-0.37, -0.51, 0.88], [-0.37, -0.51, -0.88], [1.73, 0.9, 0]]
)
BODY = replace(Structure.build([6, 8, 1, 1, 1, 1], REST), charge=0, spin=1)
SOUND = springs(REST, 15.0)


def built(**settings: object) -> Benchmark:
    return registered_benchmarks()["general.stability"](**settings)


def data(*records: Record) -> DataSource:
    return source("stability", *(records or (Record("springs", (BODY,), info={"description": "a toy"}),)))


def seen(model: Model, folder: Path, steps: int = 2000) -> Observation:
    asked = built(steps=steps, interval=10)
    return observe_runs(asked, list(planned_cases(asked, Scope(survey(), data()))), model, folder)["springs"]


def score(observation: Observation) -> float:
    found = built().case_score(observation)
    assert found is not None
    return found


def test_a_sound_model_lasts(tmp_path: Path) -> None:
    found = seen(SOUND, tmp_path)
    assert score(found) == found.values["survived"] == 1.0
    assert found.reason == ""
    assert found.values["temperature"] == pytest.approx(300.0, rel=0.6)
    assert found.detail["verdicts"][0]["kind"] == "stable"


@pytest.mark.parametrize("model", HOPELESS)
def test_broken_models_score_next_to_nothing(model: str, tmp_path: Path) -> None:
    found = seen(HOPELESS[model](SOUND), tmp_path)
    assert score(found) <= 0.1, (found.reason, found.values)
    assert found.reason


def losing_a_hydrogen(after: int) -> Model:
    """From a call on, the last atom is pulled away gently."""
    calls = 0

    def model(s: Structure) -> tuple[float, Floats]:
        nonlocal calls
        calls += 1
        if calls <= after:
            return SOUND(s)
        energy, forces = springs(REST[:5], 15.0)(Structure.build(s.numbers[:5], s.positions[:5]))
        pull = 0.05 * (s.positions[5] - s.positions[1]) / np.linalg.norm(s.positions[5] - s.positions[1])
        return energy, np.concatenate([forces, [pull]])

    return model


def test_a_lost_hydrogen_costs_half_and_the_run_that_it_ends_is_still_judged(tmp_path: Path) -> None:
    found = seen(losing_a_hydrogen(1000), tmp_path)
    assert found.detail["verdicts"][0]["kind"] == "hydrogen loss"
    frame = found.detail["verdicts"][0]["frame"]
    assert 100 < frame < 160
    assert score(found) == pytest.approx(0.5 + 0.5 * frame / 201)


def test_a_model_that_stops_answering_gets_what_it_lasted(tmp_path: Path) -> None:
    from run_cases import failing_after

    found = seen(failing_after(SOUND, 1005), tmp_path)
    assert found.detail["verdicts"][0]["kind"] == "not finite"
    assert score(found) == pytest.approx(0.25, abs=0.01)


def test_a_model_that_refuses_at_once_fails() -> None:
    asked = built()
    (case,) = planned_cases(asked, Scope(survey(), data()))
    found = observe_case(asked, case, {"run1": Outcome("key", "failed", {}, "refused: no")})
    assert found.status == "failed"
    assert asked.case_score(found) == 0.0


def test_the_metric_has_the_score_of_the_systems(tmp_path: Path) -> None:
    asked = built(steps=600, interval=10, seeds=2)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    assert set(case.jobs) == {"run1", "run2"}
    good = observe_case(asked, case, run_case(case, SOUND, tmp_path))
    bad = replace(good, case="other", values={**good.values, "stability": 0.0, "survived": 0.0})
    metrics = {m.name: m for m in asked.measure([good, bad])}
    assert metrics["stability"].score == metrics["stability"].value == 0.5
    assert metrics["survived"].value == 0.5
    assert metrics["stability"].stderr == pytest.approx(0.5)  # 1 and 0: their scatter over the root of two


def test_the_error_of_several_seeds_is_their_scatter(tmp_path: Path) -> None:
    asked = built(steps=600, interval=10, seeds=2)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    runs = run_case(case, SOUND, tmp_path)
    hot = run_case(case, HOPELESS["wrong_sign_forces"](SOUND), tmp_path / "hot")
    found = observe_case(asked, case, {"run1": runs["run1"], "run2": hot["run2"]})
    first, second = (event["score"] for event in found.detail["verdicts"])
    assert found.values["stability"] == pytest.approx((first + second) / 2.0)
    assert found.stderr["stability"] == pytest.approx(abs(first - second) / 2.0)


def test_eight_kinds_of_systems_come_with_the_program() -> None:
    (systems,) = defaults("stability")
    assert len(systems.records) == 8
    elements = {int(z) for record in systems.records for z in record.structures[0].numbers}
    assert {1, 6, 7, 8, 9, 16, 17} == elements
    assert sum(any(record.structures[0].pbc) for record in systems.records) == 2
    sizes = [len(record.structures[0]) for record in systems.records]
    assert min(sizes) < 15
    assert max(sizes) > 500


def test_quick_suites_take_the_small_systems_and_free_models_no_solutions() -> None:
    found = {case.id: case for case in planned_cases(built(), Scope(survey((1, 6, 7, 8, 9, 16, 17))))}
    assert {name for name, case in found.items() if case.unsupported} == {"solvated_peptide", "solvated_peptide_ion"}
    small = planned_cases(built(most_atoms=40), Scope(survey((1, 6, 7, 8, 9, 16, 17))))
    assert [case.id for case in small] == ["small_molecule_HCNO", "small_molecule_sulfur", "small_molecule_halogen"]
    assert len(list(planned_cases(built(most_atoms=2), Scope(survey(), data())))) == 1, "yours are always taken"
    assert [c.id for c in planned_cases(built(most_atoms=2), Scope(survey(), embedded_lane(data())))] == ["nothing"]


def test_a_protocol_is_what_the_job_says() -> None:
    (case,) = planned_cases(built(steps=100_000, interval=100), Scope(survey(), data()))
    job = case.jobs["run1"]
    assert isinstance(job, Dynamics)
    assert (job.ensemble, job.temperature, job.timestep, job.steps, job.interval) == ("nvt", 300.0, 1.0, 100_000, 100)
