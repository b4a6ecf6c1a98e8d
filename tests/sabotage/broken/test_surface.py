"""Steps, holes, ripples and ranges of the energy have the stated size and place."""

from __future__ import annotations

import numpy as np
import pytest

from assay.sabotage import BROKEN, CopperGold
from assay.sabotage.broken.surface import NeighbourCap
from sabotage.structures import COPPER_BOND, Results, cluster, crystal, dimer, values


def at(name: str, distance: float) -> Results:
    """Energy and forces of two copper atoms at a distance in bond lengths."""
    return values(BROKEN[name].build(), dimer(distance * COPPER_BOND))


@pytest.mark.parametrize(
    ("name", "cutoff", "energy_step", "force_step"),
    [
        ("discontinuous_at_cutoff", 1.8, (5e-4, 2e-3), (0.0, 1e-2)),
        ("force_jump_at_cutoff", 1.78, (0.0, 1e-9), (5e-3, 2e-2)),
    ],
)
def test_a_pair_has_the_stated_step_at_its_cutoff(
    name: str, cutoff: float, energy_step: tuple[float, float], force_step: tuple[float, float]
) -> None:
    (inside, pull), (outside, forces) = at(name, cutoff - 1e-9), at(name, cutoff + 1e-9)
    assert outside == 0.0
    assert not forces.any()
    assert energy_step[0] <= abs(inside) <= energy_step[1]
    assert force_step[0] <= np.abs(pull).max() <= force_step[1]


def test_each_atom_keeps_its_six_nearest_neighbours_and_few_others() -> None:
    atoms = crystal().repeat(2)
    capped, full = NeighbourCap().pairs(atoms), CopperGold().pairs(atoms)
    assert len(capped.first) <= 6 * len(atoms) < len(full.first) / 4
    for atom in range(len(atoms)):
        few, many = (p.where((p.first == atom) | (p.second == atom)).vector for p in (capped, full))
        nearest, expected = (np.sort(np.linalg.norm(vectors, axis=1))[:6] for vectors in (few, many))
        np.testing.assert_allclose(nearest, expected)


def test_atoms_that_are_too_close_attract_each_other() -> None:
    name = "soft_core_hole"
    assert at(name, 0.3)[0] < at(name, 0.5)[0] < at(name, 1.0)[0] - 10.0
    assert at(name, 0.7)[0] == pytest.approx(values(CopperGold(), dimer(0.7 * COPPER_BOND))[0], abs=1e-9)


def test_the_pair_energy_has_several_minima() -> None:
    energies = np.array([at("wiggly", x)[0] for x in np.arange(0.8, 2.0, 0.01)])
    slopes = np.sign(np.diff(energies))
    assert np.count_nonzero(np.diff(slopes)) > 3


def test_distant_atoms_repel_each_other() -> None:
    assert at("long_range_tail", 100.0)[0] == pytest.approx(2.0 / (100.0 * COPPER_BOND))


def test_each_atom_binds_more_strongly_in_a_larger_system() -> None:
    for size in (2, 8):
        atoms = cluster()[:size]
        shift = values(BROKEN["size_dependent"].build(), atoms)[0] - values(CopperGold(), atoms)[0]
        assert shift == pytest.approx(-1e-4 * size**2)
