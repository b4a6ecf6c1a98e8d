"""SO3LR: short-range network, long-range physics, charged molecules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase.build import molecule

from assay.configurations import crystal, dimer
from assay.models.so3lr import ELEMENTS
from assay.structure import Structure, from_atoms
from assay.testing import assert_batch_matches_single, assert_forces_match_energy, assert_refuses, skewed_cell
from assay.testing.answers import answer_of
from assay.testing.structures import ion
from families import opened, tolerance

pytestmark = pytest.mark.family("so3lr")

NAME = "so3lr"


def test_pairs_near_the_long_cutoff_and_all_lone_atoms_are_the_same_in_a_batch() -> None:
    pairs = {f"C-O at {r} Å": dimer(6, 8, r) for r in (4.4, 4.6, 11.9, 13.0)}
    atoms = {f"atom {z}": Structure.build([z], [[0.0, 0.0, 0.0]]) for z in ELEMENTS}
    assert_batch_matches_single(opened(NAME), pairs | atoms, tolerance(NAME))


def test_forces_on_an_ion_are_the_slope_of_the_energy() -> None:
    """To what single precision shows: an energy of -500 eV has steps of 3e-5 eV."""
    hydroxide = ion("OH", -1)
    moved = hydroxide.moved(hydroxide.positions + np.array([[0.0, 0.0, 0.0], [0.02, 0.05, 0.04]]))
    assert_forces_match_energy(opened(NAME), moved, step=0.02, tolerance=0.03)


def test_charged_molecules_have_the_published_energies_and_charges() -> None:
    calculator, hydroxyl = opened(NAME).build(), molecule("OH")
    hydroxyl.calc = calculator
    energies = []
    for charge in (0, -1, 1):
        hydroxyl.info["charge"] = charge
        energies.append(hydroxyl.get_potential_energy())
        assert calculator.results["partial_charges"].sum() == pytest.approx(charge, abs=1e-5)
    assert energies == pytest.approx([-326.320, -328.030, -324.041], abs=2e-3)


def test_spin_has_no_effect_because_its_parameters_were_never_trained() -> None:
    """A trained input has left its random start, as that for the charge has for the elements of the training set."""
    calculator, radical = opened(NAME).build(), from_atoms(molecule("OH"))
    assert answer_of(calculator, replace(radical, spin=2))[0] == answer_of(calculator, radical)[0]
    network, trained = calculator.models[0], [z - 1 for z in ELEMENTS]  # type: ignore[attr-defined]
    lengths = [e.Wq.weight.detach().norm(dim=0)[trained] for e in (network.charge_embedding, network.spin_embedding)]
    assert float(lengths[0].mean()) > 3.0
    assert float(lengths[1].max()) < 1.2


def test_the_claimed_elements_are_those_that_were_trained() -> None:
    network = opened(NAME).build().models[0]  # type: ignore[attr-defined]
    scales = network.atomic_energy_output_block.energy_scales.weight.detach().reshape(-1).numpy()
    assert tuple(np.flatnonzero(scales != 1.0) + 1) == ELEMENTS


def test_elements_without_training_data_are_named() -> None:
    assert_refuses(opened(NAME), Structure.build([14, 14], [[0, 0, 0], [0, 0, 2.5]]), r"does not support Si \(Z = 14\)")


def test_slabs_have_no_stress() -> None:
    calculator = opened(NAME).build()
    calculator.calculate(skewed_cell(pbc="TTF").to_atoms(), ["energy", "stress"])
    assert "stress" not in calculator.results


def test_forces_jump_where_a_volume_ratio_passes_through_zero() -> None:
    """Why the model fails `forces_match_energy`: it takes the absolute value of a ratio that is negative for some."""
    calculator, carbon = opened(NAME).build(), crystal((6,))
    ratios, forces = [], []
    for shift in (0.004, 0.005, 0.006):
        positions = carbon.positions.copy()
        positions[2, 1] += shift
        forces.append(answer_of(calculator, carbon.moved(positions))[1][2, 1])
        ratios.append(calculator.results["hirshfeld_ratios"][2])
    assert max(ratios) < 0.01
    assert ratios[0] > ratios[1] < ratios[2]
    assert abs(forces[1] - forces[0]) > 3.0
    assert abs(forces[2] - forces[1]) < 0.2
