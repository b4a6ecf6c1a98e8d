"""Old answers are returned for a new cell, new elements and a new stress, and right ones for a new calculator."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from assay.sabotage import BROKEN, CopperGold
from sabotage.structures import cluster, crystal, difference, values


def wider(atoms: Atoms) -> Atoms:
    """The same positions in a cell that is 1.5 times longer."""
    copy = atoms.copy()
    copy.set_cell(1.5 * atoms.cell.array, scale_atoms=False)
    return copy


def test_a_cell_that_changes_alone_keeps_the_neighbours_of_the_cell_before() -> None:
    calculator = BROKEN["ignores_change_of_cell"].build()
    values(calculator, crystal())
    assert difference(values(calculator, wider(crystal())), values(CopperGold(), crystal())) == 0.0
    assert difference(values(CopperGold(), wider(crystal())), values(CopperGold(), crystal())) > 0.1


def test_neighbours_are_old_only_where_ase_says_that_no_atom_moved() -> None:
    atoms, calculator = crystal(), BROKEN["neighbours_by_positions"].build()
    atoms.calc = calculator
    before = atoms.get_potential_energy()
    atoms.set_cell(1.5 * atoms.cell.array, scale_atoms=False)
    assert atoms.get_potential_energy() == before
    assert difference(values(calculator, wider(crystal())), values(CopperGold(), wider(crystal()))) == 0.0


def test_elements_that_change_alone_keep_the_values_of_those_before() -> None:
    calculator = BROKEN["ignores_change_of_species"].build()
    copper = values(calculator, cluster(symbols="Cu8"))
    assert difference(values(calculator, cluster(symbols="Au8")), copper) == 0.0
    assert difference(values(calculator, cluster(1, "Au8")), values(CopperGold(), cluster(1, "Au8"))) == 0.0


def test_only_the_stress_is_noisy() -> None:
    calculator, stresses = BROKEN["noisy_stress"].build(), []
    for _ in range(2):
        assert difference(values(calculator, crystal()), values(CopperGold(), crystal())) == 0.0
        stresses.append(calculator.results["stress"])
    assert 0.0 < np.abs(stresses[0] - stresses[1]).max() < 1e-5 * np.abs(stresses[0]).max()


@pytest.mark.parametrize(("name", "calculators"), [("stale_stress", 1), ("shares_stress", 2)])
def test_the_stress_is_that_of_another_crystal(name: str, calculators: int) -> None:
    both = [BROKEN[name].build() for _ in range(calculators)]
    values(both[0], crystal())
    first = both[0].results["stress"]
    values(both[-1], crystal(seed=1))
    right = [CopperGold().get_stress(crystal(seed=seed)) for seed in (0, 1)]
    assert np.abs(right[0] - right[1]).max() > 1e-3
    np.testing.assert_allclose(both[-1].results["stress"] if name == "stale_stress" else first, right[calculators - 1])
