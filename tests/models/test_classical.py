"""The potentials of ASE have the energies that ASE and their parameters give."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from assay.models.loading import load_model


def values(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    calculator.calculate(atoms, ["energy", "forces"], all_changes)
    return float(calculator.results["energy"]), np.array(calculator.results["forces"])


def test_emt_gives_the_numbers_of_ase() -> None:
    atoms = bulk("Cu", cubic=True)
    atoms.rattle(0.1, seed=1)
    energy, forces = values(load_model("emt").build(), atoms)
    assert energy == EMT().get_potential_energy(atoms)
    assert np.array_equal(forces, EMT().get_forces(atoms))


def test_an_argon_pair_has_its_well_depth_at_the_minimum_and_no_energy_beyond_the_cutoff() -> None:
    sigma, epsilon = 3.40, 0.0103
    calculator = load_model("lj").build()
    minimum = Atoms("Ar2", positions=[[0.0, 0.0, 0.0], [0.0, 0.0, 2.0 ** (1 / 6) * sigma]])
    energy, forces = values(calculator, minimum)
    assert energy == pytest.approx(-epsilon, rel=0.01)
    assert np.abs(forces).max() < 1e-3 * epsilon
    energy, forces = values(calculator, Atoms("Ar2", positions=[[0.0, 0.0, 0.0], [0.0, 0.0, 3.0 * sigma]]))
    assert energy == 0.0
    assert not forces.any()
