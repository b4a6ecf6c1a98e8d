"""Runs that last and runs that do not, from the simulation to the score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Benchmark, Scope, observe_case, planned_cases
from assay.benchmarks.bases.runs import temperatures
from assay.benchmarks.registry import registered_benchmarks
from assay.compute.protocols.integrators import standard_masses
from assay.data.dataset import Record
from assay.data.embedded import defaults
from assay.data.source import DataSource
from assay.jobs import Dynamics
from assay.observation import Observation
from assay.outcome import Outcome
from assay.structure import Floats, Structure
from assay.units import ACCELERATION, BOLTZMANN
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


def seen(model: Model, folder: Path, steps: int = 4000) -> Observation:
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
    found = seen(losing_a_hydrogen(1000), tmp_path, 2000)
    assert found.detail["verdicts"][0]["kind"] == "hydrogen loss"
    frame = found.detail["verdicts"][0]["frame"]
    assert 100 < frame < 160
    assert score(found) == pytest.approx(0.5 + 0.5 * frame / 201)


def test_a_model_that_stops_answering_gets_what_it_lasted(tmp_path: Path) -> None:
    from run_cases import failing_after

    found = seen(failing_after(SOUND, 1005), tmp_path, 2000)
    assert found.detail["verdicts"][0]["kind"] == "not finite"
    assert score(found) == pytest.approx(0.25, abs=0.01)


def test_a_model_that_refuses_at_once_fails() -> None:
    asked = built()
    (case,) = planned_cases(asked, Scope(survey(), data()))
    found = observe_case(asked, case, {"run1": Outcome("key", "failed", {}, "refused: no")})
    assert found.status == "failed"
    assert asked.case_score(found) == 0.0


def test_the_metric_has_the_score_of_the_systems(tmp_path: Path) -> None:
    asked = built(steps=4000, interval=10, seeds=2)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    assert set(case.jobs) == {"run1", "run2"}
    good = observe_case(asked, case, run_case(case, SOUND, tmp_path))
    bad = replace(good, case="other", values={**good.values, "stability": 0.0, "survived": 0.0})
    metrics = {m.name: m for m in asked.measure([good, bad])}
    assert metrics["stability"].score == metrics["stability"].value == 0.5
    assert metrics["survived"].value == 0.5
    assert metrics["stability"].stderr == pytest.approx(0.5)  # 1 and 0: their scatter over the root of two


def test_the_error_of_several_seeds_is_their_scatter(tmp_path: Path) -> None:
    asked = built(steps=4000, interval=10, seeds=2)
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


def heated(kelvin: float) -> Model:
    """Springs, and random forces whose heat the thermostat takes away only at this temperature.

    A random force of the size r on a mass m heats each degree of freedom by r² Δt / 2m; friction γ takes away
    γ k (T − 300 K).
    """
    random = np.random.default_rng(7)
    masses = standard_masses(BODY.numbers)[:, None]
    size = np.sqrt(2.0 * masses * 0.002 * BOLTZMANN * (kelvin - 300.0) / (1.0 * ACCELERATION))

    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        return energy, forces + size * random.standard_normal(forces.shape)

    return model


def test_twice_the_temperature_throughout_is_overheating(tmp_path: Path) -> None:
    found = seen(heated(600.0), tmp_path, 8000)
    assert found.values["temperature"] == pytest.approx(600.0, rel=0.25)
    assert found.detail["verdicts"][0]["kind"] == "overheating"
    assert score(found) < 0.1


def test_a_run_too_short_to_tell_has_no_score(tmp_path: Path) -> None:
    """18 degrees of freedom have 11 independent kinetic energies in 0.3 ps: twice the temperature would not show."""
    found = seen(SOUND, tmp_path, 300)
    assert found.status == "ok"
    assert built().case_score(found) is None
    assert "survived" not in found.values
    assert found.reason.startswith("too short")
    assert score(seen(HOPELESS["frozen"](SOUND), tmp_path, 300)) < 0.1, "what happens in a short run still counts"


def test_the_published_score_stands_beside_it(tmp_path: Path) -> None:
    lost, sound = seen(losing_a_hydrogen(1000), tmp_path), seen(SOUND, tmp_path)
    assert lost.values["literal_score"] == lost.values["stability"] < 1.0
    assert sound.values["literal_score"] == 1.0
    hot = seen(heated(600.0), tmp_path, 8000)
    assert hot.values["literal_score"] == 1.0, "the publication looks only for 10 000 K"
    refused = observe_case(built(), planned_cases(built(), Scope(survey(), data()))[0], {"run1": REFUSED})
    metrics = {m.name: m for m in built().measure([sound, replace(refused, case="other")])}
    assert metrics["literal_score"].value == 0.5


REFUSED = Outcome("key", "failed", {}, "refused: no")


def test_the_temperature_has_what_the_integrator_leaves_out(tmp_path: Path) -> None:
    """Without it the C-H springs of these stiff molecules would be 10 % too cold."""
    stiff = springs(REST, 60.0)
    asked = built(steps=20_000, interval=20)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    runs = run_case(case, stiff, tmp_path)
    found = observe_case(asked, case, runs)
    lacking = runs["run1"].values["kick_temperature"]
    assert lacking > 20.0
    raw = temperatures(runs["run1"])
    assert found.values["temperature"] == pytest.approx(raw[len(raw) // 2 :].mean() + lacking)
    assert found.values["temperature"] == pytest.approx(300.0, abs=3.0 * (found.stderr["temperature"] or 0.0))
