"""Results have the wrong form, slabs the wrong stress, and ions the wrong energy, as stated."""

from __future__ import annotations

import numpy as np
import pytest
from ase.calculators.mixing import SumCalculator

from assay.sabotage import BROKEN, CopperGold
from assay.sabotage.broken.ase_results import AllStresses, Charged
from sabotage.measurements import stress_error
from sabotage.structures import cluster, crystal, values


@pytest.mark.parametrize("pbc", [(True, True, False), (True, False, False)])
def test_the_stress_of_slabs_and_wires_belongs_to_the_energy_and_the_volume_of_the_cell(pbc: tuple[bool, ...]) -> None:
    atoms = crystal(pbc)
    assert stress_error(AllStresses, atoms, step=0.002) < 1e-9
    wrong = BROKEN["slab_stress_of_other_volume"].build().get_stress(atoms)
    np.testing.assert_allclose(17.8 * wrong, AllStresses().get_stress(atoms))
    along = BROKEN["no_stress_along_wires"].build().get_stress(atoms)
    assert along.any() == (sum(pbc) == 2)


def test_results_have_the_form_that_is_stated() -> None:
    atoms = crystal()
    for name, key, shape in (("energy_in_array", "energy", (1,)), ("stress_as_tensor", "stress", (3, 3))):
        calculator = BROKEN[name].build()
        values(calculator, atoms)
        assert np.shape(calculator.results[key]) == shape
    calculator = BROKEN["energies_without_pairs"].build()
    energy, _ = values(calculator, atoms)
    assert abs(calculator.results["energies"].sum() - energy) > 1.0


def test_a_sum_of_calculators_misses_what_is_not_in_calculate() -> None:
    calculator, atoms = BROKEN["corrects_outside_calculate"].build(), cluster()
    both = SumCalculator([calculator, calculator]).get_potential_energy(atoms)
    alone = calculator.get_potential_energy(atoms)
    assert both - 2.0 * alone == pytest.approx(2.0 * 0.05 * len(atoms))


def energies(name: str | None, *states: dict[str, int]) -> list[float]:
    """Energies (eV) of one `Atoms` object whose charge and spin change."""
    atoms, found = cluster(), []
    atoms.calc = BROKEN[name].build() if name else Charged()
    for state in states:
        atoms.info = dict(state)
        found.append(atoms.get_potential_energy())
    return found


def test_charge_and_spin_are_used_as_stated() -> None:
    states: list[dict[str, int]] = [{}, {"charge": 1}, {"spin": 3}]
    neutral, ion, triplet = energies(None, *states)
    assert neutral == CopperGold().get_potential_energy(cluster())
    assert len({neutral, ion, triplet}) == 3
    assert energies("ignores_claimed_charge", *states) == [neutral, neutral, triplet]
    assert energies("ignores_claimed_spin", *states) == [neutral, ion, neutral]
    assert energies("stale_charge", *states) == [neutral] * 3
    assert energies("stale_charge", *states[1:]) == [ion] * 2
    assert energies("triplet_by_default", {}, {"spin": 1}) == [triplet, neutral]
