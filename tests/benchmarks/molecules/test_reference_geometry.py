"""Minimisations from reference geometries: rest, return, stiffness, broken bonds, and copies that are displaced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Scope, planned_cases
from assay.benchmarks.builders.displaced import RMSD, displaced_copy, mean_square_displacement, random_displacements
from assay.benchmarks.molecules.reference_geometry import STIFFNESS_RANGE
from assay.configurations import cluster
from assay.data.dataset import Record
from assay.data.source import DataSource
from assay.jobs import Relaxation
from assay.structure import Floats, Structure
from molecule_cases import benchmark, observe, scores, source, survey
from run_cases import springs

CHAIN = [[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [2.2, 1.2, 0.0], [-0.6, 0.9, 0.2]]
REST = replace(Structure.build([6, 6, 8, 1], CHAIN), charge=0, spin=1)
PUSH = 0.18 * np.array([[0.0, 0.5, 1.0], [0.0, -1.0, -1.0], [0.3, 0.0, 1.0], [0.0, 0.0, 0.5]])
MOVED = REST.moved(REST.positions + PUSH)
NAME = "reference_geometry"


def data(moved: bool = True) -> DataSource:
    """The molecule at rest, with a displaced copy and the energies of both at 20 eV/Å², or without either."""
    if not moved:
        return source(NAME, Record("chain", (REST,), roles=("reference",)))
    strain = springs(REST.positions)(MOVED)[0]
    return source(NAME, Record("chain", (REST, MOVED), (-100.0, strain - 100.0), None, ("reference", "displaced")))


@pytest.mark.parametrize("moved", [True, False])
def test_a_model_with_the_right_minimum_comes_back(moved: bool) -> None:
    seen = observe(NAME, data(moved), springs(REST.positions))
    values = seen["chain"].values
    assert seen["chain"].status == "ok", seen["chain"].reason
    assert values["rmsd_from_reference"] == pytest.approx(0.0, abs=1e-9)
    assert values["rmsd_from_displaced"] < 0.01
    assert values["bond_change"] == pytest.approx(0.0, abs=1e-9)
    assert scores(NAME, seen) == {"chain": 1.0}
    assert values["literal_score"] == 1.0
    if moved:
        assert values["strain_ratio"] == pytest.approx(1.0, abs=0.01)
    else:
        assert STIFFNESS_RANGE[0] < values["stiffness"] < STIFFNESS_RANGE[1]


def test_changes_of_bonds_and_angles_are_those_of_the_models_minimum() -> None:
    longer = REST.positions.copy()
    longer[3] *= 1.1  # the C-H bond, 1.1 Å, is a tenth longer
    seen = observe(NAME, data(), springs(longer))
    assert seen["chain"].values["bond_change"] == pytest.approx(0.1 * np.linalg.norm(REST.positions[3]) / 3, rel=0.05)
    assert seen["chain"].values["angle_change"] < 0.5
    assert seen["chain"].values["rmsd_from_reference"] < 0.01  # of heavy atoms


@pytest.mark.parametrize("moved", [True, False])
def test_without_forces_standing_still_is_no_answer(moved: bool) -> None:
    model = springs(REST.positions)
    seen = observe(NAME, data(moved), lambda s: (model(s)[0], np.zeros((len(s), 3))))
    assert scores(NAME, seen)["chain"] == pytest.approx(0.0, abs=0.1)
    assert seen["chain"].values["literal_score"] == 1.0, "the publication starts where the answer is"


@pytest.mark.parametrize(("moved", "factor", "words"), [
    (True, 23.06, "23.1 times the energy"), (True, 1 / 23.06, "times the energy"), (True, 0.0, "0 times the energy"),
    (False, 23.06, "the stiffness is"), (False, 1 / 60, "the stiffness is"), (False, 0.0, "the stiffness is 0 eV/Å²"),
])  # fmt: skip
def test_wrong_units_show_in_the_stiffness(moved: bool, factor: float, words: str) -> None:
    model = springs(REST.positions)

    def scaled(s: Structure) -> tuple[float, Floats]:
        energy, forces = model(s)
        return factor * energy, (factor or 1.0) * forces

    seen = observe(NAME, data(moved), scaled)["chain"]
    assert seen.status == "failed"
    assert words in seen.reason


@pytest.mark.parametrize("constant", [6.0, 20.0])
def test_the_stiffness_is_the_second_derivative_of_the_energy(constant: float) -> None:
    """E = k/2 Σ (x − x0)² has the second derivative k along every direction."""

    def harmonic(s: Structure) -> tuple[float, Floats]:
        moved = s.positions - REST.positions
        return 0.5 * constant * float((moved**2).sum()), -constant * moved

    seen = observe(NAME, data(moved=False), harmonic)["chain"]
    assert seen.status == "ok", seen.reason
    assert seen.values["stiffness"] == pytest.approx(constant, rel=1e-6)


def test_the_mean_square_displacement_is_that_of_the_displacements() -> None:
    lengths = [((made.positions - REST.positions) ** 2).sum() for made in random_displacements(REST, "chain")]
    assert mean_square_displacement(REST, "chain") == pytest.approx(np.mean(lengths))
    assert mean_square_displacement(REST, "chain") == pytest.approx(3 * len(REST) * 0.02**2, rel=0.5)


def test_a_minimum_elsewhere_costs_score() -> None:
    other = REST.positions.copy()
    other[2, 0] += 0.35
    seen = observe(NAME, data(moved=False), springs(other))
    assert seen["chain"].status == "ok", seen["chain"].reason
    assert 0.075 < seen["chain"].values["rmsd_from_reference"] < 0.3
    assert 0.0 < scores(NAME, seen)["chain"] < 1.0


def test_a_broken_bond_fails() -> None:
    seen = observe(NAME, data(), springs(REST.positions * [1.8, 1.0, 1.0]))["chain"]
    assert seen.status == "failed"


def test_a_bond_that_breaks_is_named() -> None:
    apart = REST.positions.copy()
    apart[3] *= 3.0
    asked = benchmark(NAME)
    (case,) = planned_cases(asked, Scope(survey(), data(moved=False)))
    seen = observe(NAME, data(moved=False), springs(apart))["chain"]
    assert seen.status == "failed"
    assert "1 bonds broken, the first C0-H3" in seen.reason or "stiffness" in seen.reason
    assert case.context["symbols"] == ["C", "C", "O", "H"]


def test_a_minimisation_that_does_not_end_fails() -> None:
    seen = observe(NAME, data(), springs(REST.positions), steps=1)["chain"]
    assert seen.status == "failed"
    assert "from the displaced geometry: not converged after 1 steps" in seen.reason


def test_a_model_that_gives_up_on_the_way_fails_with_its_reason() -> None:
    model = springs(REST.positions)

    def shy(s: Structure) -> tuple[float, Floats]:
        if not any(np.array_equal(s.positions, known.positions) for known in (REST, MOVED)):
            raise ValueError("not here")
        return model(s)

    seen = observe(NAME, data(), shy)["chain"]
    assert seen.status == "failed"
    assert "from the displaced geometry: after 1 steps: refused: not here" in seen.reason


def test_hydrogens_do_not_count_unless_there_is_little_else() -> None:
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), data()))
    assert case.context["counted"].tolist() == [0, 1, 2]
    arms = 0.63 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    methane = Record("methane", (Structure.build([6, 1, 1, 1, 1], [np.zeros(3), *arms]),), roles=("reference",))
    (small,) = planned_cases(benchmark(NAME), Scope(survey(), source(NAME, methane)))
    assert small.context["counted"].tolist() == [0, 1, 2, 3, 4]


def test_both_ways_start_where_the_data_says() -> None:
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), data()))
    starts = [case.jobs[role] for role in ("reference", "displaced")]
    assert all(isinstance(job, Relaxation) and job.force_limit == 0.01 for job in starts)
    assert [job.structure for job in starts] == [REST, MOVED]  # type: ignore[union-attr]


@pytest.mark.parametrize("variant", range(4))
def test_displaced_copies_are_always_the_same_and_at_the_same_distance(variant: int) -> None:
    body, counted = cluster((6, 6, 8), 1.0, 8, variant), np.arange(8)
    one, again, other = (displaced_copy(body, name, counted) for name in ("a", "a", "b"))
    np.testing.assert_array_equal(one.positions, again.positions)
    assert np.abs(one.positions - other.positions).max() > 0.01
    assert superposed_rmsd(one.positions, body.positions) == pytest.approx(RMSD, abs=1e-6)


def test_hydrogens_ride_with_their_neighbours() -> None:
    moved = displaced_copy(REST, "chain", np.arange(3))
    np.testing.assert_allclose((moved.positions - REST.positions)[3], (moved.positions - REST.positions)[0], atol=1e-12)


def test_random_displacements_go_there_and_back() -> None:
    made = random_displacements(REST, "chain", 2, 0.02)
    assert len(made) == 4
    np.testing.assert_allclose(made[0].positions + made[1].positions, 2.0 * REST.positions)
