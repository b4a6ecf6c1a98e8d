"""Energy of isolated springs: kept by a sound model, lost by a leaky one, and no question for one without forces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Benchmark, Scope, planned_cases
from assay.benchmarks.builders.ice import ice_cell
from assay.benchmarks.registry import registered_benchmarks
from assay.data.dataset import Record
from assay.data.source import DataSource
from assay.jobs import Dynamics
from assay.model import ModelCard
from assay.observation import Observation
from assay.structure import Floats, Structure
from assay.survey import Survey
from molecule_cases import Model, source, survey
from run_cases import HOPELESS, observe_runs, scaled, springs

REST = np.array([[0.0, 0.0, 0.0], [1.42, 0.0, 0.0], [0.7, 1.3, 0.0], [0.7, 0.5, 1.2]])
NUMBERS = [6, 8, 6, 6]
BODY = replace(Structure.build(NUMBERS, REST), charge=0, spin=1)
SOUND = springs(REST, 15.0)


def built(**settings: object) -> Benchmark:
    return registered_benchmarks()["general.energy_conservation"](**settings)


def only(name: str, structure: Structure) -> DataSource:
    """One system, and no ring that the model could know."""
    lead = Record("lead", (Structure.build([82] * 4, np.eye(4, 3)),), info={"ring": [0, 1, 2, 3]})
    return DataSource((*source("stability", Record(name, (structure,))).given, *source("rings", lead).given))


def data() -> DataSource:
    return only("springs", BODY)


def seen(model: Model, folder: Path, steps: int = 2000) -> Observation:
    asked = built(steps=steps, interval=5)
    return observe_runs(asked, list(planned_cases(asked, Scope(survey(), data()))), model, folder)["springs"]


def score(observation: Observation) -> float:
    found = built().case_score(observation)
    assert found is not None
    return found


def test_springs_keep_their_energy_and_the_error_falls_with_the_square_of_the_time_step(tmp_path: Path) -> None:
    found = seen(SOUND, tmp_path)
    assert found.status == "ok", found.reason
    assert abs(found.values["drift"]) < 1.0
    assert (found.stderr["drift"] or 0.0) < 1.0
    assert found.tolerances["drift"] == 1.0
    assert found.unresolved == ()
    assert found.values["time_step_order"] == pytest.approx(2.0, abs=0.3)
    assert found.values["exchange"] < 0.1
    assert score(found) == 1.0


def test_a_run_too_short_to_tell_has_no_score(tmp_path: Path) -> None:
    short = seen(SOUND, tmp_path, 100)
    assert (short.stderr["drift"] or 0.0) > 0.5
    assert short.tolerances["drift"] == pytest.approx(2.0 * (short.stderr["drift"] or 0.0))
    assert short.unresolved == ("drift",)
    assert built().case_score(short) is None
    shortest = seen(SOUND, tmp_path / "shortest", 10)
    assert shortest.status == "ok"
    assert "drift" not in shortest.values, "three frames have no slope"
    assert built().case_score(shortest) is None


def test_drifts_of_opposite_sign_do_not_cancel(tmp_path: Path) -> None:
    up, down = (seen(leaky(rate), tmp_path / str(rate)) for rate in (0.4, -0.4))
    assert up.values["signed_drift"] > 1.0
    assert down.values["signed_drift"] < -1.0
    metrics = {m.name: m.value or 0.0 for m in built().measure([up, replace(down, case="other")])}
    assert metrics["drift"] == pytest.approx((up.values["drift"] + down.values["drift"]) / 2.0)
    assert metrics["drift"] > 2.0


def with_jumps(size: float) -> Model:
    """Springs whose energy (eV) jumps where a bond is a little longer than at rest: forces know nothing of it."""

    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        longer = np.linalg.norm(s.positions[0] - s.positions[1]) > 1.45
        return energy + size * float(longer), forces

    return model


def noisy_energy(size: float) -> Model:
    random = np.random.default_rng(0)

    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        return energy + size * random.normal(), forces

    return model


def stronger_forces(factor: float) -> Model:
    """Springs whose forces are those of stiffer ones: no drift, and an energy that is not conserved."""

    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        return energy, factor * forces

    return model


@pytest.mark.parametrize(
    "model", [with_jumps(0.002), noisy_energy(0.001), stronger_forces(1.05)], ids=["jumps", "noise", "forces"]
)
def test_an_energy_error_that_does_not_fall_with_the_time_step_fails(model: Model, tmp_path: Path) -> None:
    found = seen(model, tmp_path, 4000)
    assert found.values["drift"] < 1.0, "the drift sees nothing"
    assert found.values["exchange"] < 0.3
    assert found.values["time_step_order"] < 1.0
    assert found.status == "failed"
    assert "power" in found.reason
    assert score(found) == 0.0


@pytest.mark.parametrize("offset", [-5e4, -5e5])
def test_the_rounding_of_single_precision_is_not_resolved_and_fails_nothing(offset: float, tmp_path: Path) -> None:
    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        return float(np.float32(energy + offset)), forces

    found = seen(model, tmp_path, 4000)
    assert found.values["time_step_order"] < 1.0
    assert "power" not in found.reason


def test_single_precision_is_known_where_something_in_double_precision_was_added(tmp_path: Path) -> None:
    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        return float(np.float32(energy - 2e4)) + 1e-5 * float(s.positions[0, 0]), forces

    asked = built(steps=4000, interval=5)
    cases = [planned_cases(asked, Scope(replace(survey(), precision=name), data())) for name in ("float64", "float32")]
    double, single = (observe_runs(asked, list(c), model, tmp_path / str(i))["springs"] for i, c in enumerate(cases))
    assert "power" in double.reason
    assert "power" not in single.reason


def leaky(rate: float) -> Model:
    """Springs, and a force along the motion, which the model learns from the place before."""
    before: dict[str, Floats] = {}

    def model(s: Structure) -> tuple[float, Floats]:
        energy, forces = SOUND(s)
        moved = s.positions - before.get("place", s.positions)
        before["place"] = s.positions.copy()
        return energy, forces + rate * moved

    return model


def test_a_force_that_does_work_shows_as_drift(tmp_path: Path) -> None:
    gentle, strong = (seen(leaky(rate), tmp_path) for rate in (0.2, 0.8))
    for found in (gentle, strong):
        assert found.values["drift"] > 5.0 * (found.stderr["drift"] or 0.0)
    assert strong.values["drift"] > 2.0 * gentle.values["drift"] > 2.0
    assert score(strong) <= 0.1


@pytest.mark.parametrize("model", [*HOPELESS, "constant_energy", "mixed_units"])
def test_broken_models_score_next_to_nothing(model: str, tmp_path: Path) -> None:
    others = {"constant_energy": scaled(SOUND, 0.0, 1.0), "mixed_units": scaled(SOUND, 23.06, 1.0)}
    broken = others[model] if model in others else HOPELESS[model](SOUND)
    found = seen(broken, tmp_path, 1000)
    assert score(found) <= 0.1, (found.reason, found.values)


def test_without_forces_there_is_nothing_to_keep(tmp_path: Path) -> None:
    found = seen(scaled(SOUND, 0.0, 0.0), tmp_path, 100)
    assert found.status == "failed"
    assert "there are no forces" in found.reason


def test_the_drift_does_not_depend_on_the_size(tmp_path: Path) -> None:
    """Two copies that do not know of each other drift like one."""
    far = np.concatenate([REST, REST + np.array([9.0, 0.0, 0.0])])
    both = replace(Structure.build(NUMBERS * 2, far), charge=0, spin=1)
    asked = built(steps=1500)

    def model(s: Structure) -> tuple[float, Floats]:
        parts = [SOUND(Structure.build(NUMBERS, s.positions[part])) for part in (slice(0, 4), slice(4, 8))]
        return sum(p[0] for p in parts), np.concatenate([p[1] for p in parts])

    cases = list(planned_cases(asked, Scope(survey(), only("both", both))))
    found = observe_runs(asked, cases, model, tmp_path)["both"]
    assert abs(found.values["drift"]) < 1.0 + 3.0 * (found.stderr["drift"] or 0.0)


def test_both_time_steps_cover_the_same_time() -> None:
    (case,) = planned_cases(built(steps=1000, seeds=2), Scope(survey(), data()))
    jobs = {role: job for role, job in case.jobs.items() if isinstance(job, Dynamics)}
    assert set(jobs) == {"run1", "fine1", "run2", "fine2"}
    assert {job.steps * job.timestep for job in jobs.values()} == {1000.0}
    assert {job.interval * job.timestep for job in jobs.values()} == {5.0}
    assert {job.ensemble for job in jobs.values()} == {"nve"}


def test_a_small_ring_comes_first_and_then_the_systems_that_should_last() -> None:
    found = [case.id for case in planned_cases(built(molecules=3), Scope(survey((1, 6, 7, 8, 9, 16, 17))))]
    assert found == ["furan", "small_molecule_HCNO", "small_molecule_sulfur"]
    assert [case.id for case in planned_cases(built(molecules=1), Scope(survey()))] == ["furan"]


def test_periodic_models_are_asked_about_a_crystal_too() -> None:
    water = Survey(ModelCard("w", elements=(1, 6, 8)), answered=(1, 6, 8), pbc=("FFF", "TTT"))
    assert [case.id for case in planned_cases(built(molecules=1), Scope(water))] == ["furan", "ice"]
    assert [case.id for case in planned_cases(built(), Scope(water, data()))] == ["springs", "C crystal"]


def test_ice_is_made_of_water_molecules_with_four_neighbours() -> None:
    cell = ice_cell()
    atoms = cell.to_atoms()
    distances = atoms.get_all_distances(mic=True)
    oxygens, hydrogens = np.flatnonzero(cell.numbers == 8), np.flatnonzero(cell.numbers == 1)
    assert (len(oxygens), len(hydrogens)) == (8, 16)
    near = distances[np.ix_(oxygens, hydrogens)]
    assert ((near < 1.1).sum(axis=1) == 2).all()
    assert ((near < 2.0).sum(axis=1) == 4).all()
    assert ((near < 1.1).sum(axis=0) == 1).all()
    assert distances[np.ix_(oxygens, oxygens)][np.triu_indices(8, 1)].min() == pytest.approx(2.76, abs=0.01)
    assert atoms.get_masses().sum() / 6.02214e23 * 1e24 / cell.volume == pytest.approx(0.92, abs=0.03)
