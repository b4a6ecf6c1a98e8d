"""ANI-1ccx and ANI-1x: published numbers, and many molecules in one padded pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.calculators.calculator import Calculator

from assay.errors import ModelFailure
from assay.model import BatchEvaluator, Model
from assay.models import ani
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("ani")


@cache
def opened(name: str) -> tuple[Model, Calculator, BatchEvaluator]:
    """A model with its calculator and its batch; kept, because reading the networks takes seconds."""
    model = load_model(name)
    assert model.build_batch is not None
    return model, model.build(), model.build_batch()


@pytest.fixture
def model() -> Model:
    return opened("ani-1ccx")[0]


@pytest.fixture
def calculator() -> Calculator:
    return opened("ani-1ccx")[1]


@pytest.fixture
def batch() -> BatchEvaluator:
    return opened("ani-1ccx")[2]


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
    atoms = structure.to_atoms()
    calculator.calculate(atoms, ["energy", "forces"])
    return calculator.results["energy"], np.array(calculator.results["forces"])


def assert_batch_is_single(batch: BatchEvaluator, calculator: Calculator, structures: Sequence[Structure]) -> None:
    answers = batch.evaluate(structures)
    assert len(answers) == len(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        expected, pushes = alone(calculator, structure)
        assert energy == pytest.approx(expected, abs=1e-5)
        assert forces.dtype == np.float64
        np.testing.assert_allclose(forces, pushes, rtol=0, atol=1e-5 * max(1.0, np.abs(pushes).max()))


def dimers(distances: Sequence[float] = tuple(np.linspace(0.18, 6.0, 30))) -> list[Structure]:
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in distances]


def ice(pattern: str) -> Structure:
    """Four atoms in a skewed cell that is smaller than the cutoff of 5.2 Å."""
    cell = np.array([[3.4, 0.3, 0.2], [0.5, 3.6, -0.4], [0.1, 0.7, 4.0]])
    places = np.array([[0.2, 0.1, 0.3], [0.9, 0.7, 0.2], [0.2, 0.3, 1.6], [2.1, 2.2, 2.4]])
    return Structure.build([8, 1, 6, 7], places, cell, pattern)


@pytest.mark.parametrize(
    ("name", "energy", "bond", "angle"),
    [("ani-1ccx", -2078.499, 0.9584, 104.6), ("ani-1x", -2078.637, 0.9662, 103.4)],
)
def test_water_has_the_published_energy_and_geometry(name: str, energy: float, bond: float, angle: float) -> None:
    from ase.optimize import BFGS

    _, calculator, batch = opened(name)
    water = molecule("H2O")
    assert batch.evaluate([from_atoms(water)])[0][0] == pytest.approx(energy, abs=1e-3)
    water.calc = calculator
    assert water.get_potential_energy() == pytest.approx(energy, abs=1e-3)
    BFGS(water, logfile=None).run(fmax=1e-3)
    assert water.get_distance(0, 1) == pytest.approx(bond, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(angle, abs=0.2)


def test_the_card_has_the_elements_of_the_network(calculator: Calculator, model: Model) -> None:
    from ase.data import atomic_numbers

    known = calculator.model.species  # type: ignore[attr-defined]
    assert tuple(atomic_numbers[symbol] for symbol in known) == model.card.elements == ani.ELEMENTS


def test_a_batch_gives_what_the_calculator_gives(batch: BatchEvaluator, calculator: Calculator) -> None:
    molecules = [from_atoms(molecule(name)) for name in ("H2O", "CH3CH2OH", "C6H6")]
    lone = Structure.build([6], [[3.0, 2.0, 1.0]])
    apart = Structure.build([6, 8, 1], [[0, 0, 0], [30, 0, 0], [30.5, 0.6, 0.6]])
    assert_batch_is_single(batch, calculator, [*dimers(), ice("TTT"), *molecules, lone, ice("TFT"), apart])


def test_a_batch_without_any_neighbours_has_the_energies_of_atoms(
    batch: BatchEvaluator, calculator: Calculator
) -> None:
    carbon, oxygen = (Structure.build([z], [[0, 0, 0]]) for z in (6, 8))
    apart = Structure.build([6, 8], [[0, 0, 0], [0, 0, 9.0]])
    assert_batch_is_single(batch, calculator, [carbon])
    assert_batch_is_single(batch, calculator, [carbon, oxygen, apart])
    energies = [energy for energy, _ in batch.evaluate([carbon, oxygen, apart])]
    assert energies[2] == pytest.approx(energies[0] + energies[1], abs=1e-5)


def test_an_empty_batch_is_empty(batch: BatchEvaluator) -> None:
    assert list(batch.evaluate([])) == []


@pytest.mark.parametrize("pattern", ["TTF", "TFT", "FTT", "TFF", "FTF", "FFT"])
def test_directions_that_are_not_periodic_see_no_images(
    calculator: Calculator, batch: BatchEvaluator, pattern: str
) -> None:
    atoms = ice(pattern).to_atoms()
    wide = atoms.copy()
    wide.cell[~atoms.pbc] = 40.0 * np.linalg.svd(atoms.cell.array[atoms.pbc])[2][atoms.pbc.sum() :]
    wide.pbc = True
    energy, forces = alone(calculator, from_atoms(wide))
    for found in (alone(calculator, ice(pattern)), batch.evaluate([ice(pattern)])[0]):
        assert found[0] == pytest.approx(energy, abs=2e-3)
        np.testing.assert_allclose(found[1], forces, atol=5e-3)
    assert abs(alone(calculator, ice("TTT"))[0] - energy) > 0.1


def test_a_crystal_has_the_energy_of_its_supercell(batch: BatchEvaluator) -> None:
    small = ice("TTT")
    large = small.repeated((3, 2, 2))
    (energy, forces), (total, pushes) = batch.evaluate([small, large])
    assert total / 12 == pytest.approx(energy, abs=1e-3)
    np.testing.assert_allclose(pushes[: len(small)], forces, atol=5e-3)


def test_forces_are_the_slope_of_the_energy(batch: BatchEvaluator) -> None:
    atoms = molecule("CH3CH2OH")
    atoms.rattle(0.1, seed=1)
    start, step = from_atoms(atoms), 0.01
    moved = []
    for sign in (1, -1):
        for place in np.ndindex(len(atoms), 3):
            positions = start.positions.copy()
            positions[place] += sign * step
            moved.append(start.moved(positions))
    energies = np.array([energy for energy, _ in batch.evaluate(moved)]).reshape(2, -1, 3)
    forces = batch.evaluate([start])[0][1]
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=0.03)
    assert np.abs(forces).max() > 1.0


def test_unknown_elements_are_refused(calculator: Calculator, batch: BatchEvaluator) -> None:
    fluoride = Structure.build([9, 1], [[0, 0, 0], [0, 0, 0.92]])
    with pytest.raises(ModelFailure, match=r"does not support F \(Z = 9\)"):
        alone(calculator, fluoride)
    with pytest.raises(ModelFailure, match=r"does not support F \(Z = 9\)"):
        batch.evaluate([*dimers([1.2]), fluoride])


def test_precision_and_device_are_read_from_the_network(calculator: Calculator, model: Model) -> None:
    from assay.compute.engines.precision import as_used

    assert as_used(calculator) == {"precision": model.card.precision, "device": "cpu"}


def test_the_two_models_have_different_fingerprints() -> None:
    assert load_model("ani-1ccx").fingerprint != load_model("ani-1x").fingerprint


def test_stress_is_the_slope_of_the_energy(calculator: Calculator) -> None:
    def energy(strain: float) -> float:
        atoms = ice("TTT").to_atoms()
        deformation = np.eye(3)
        deformation[0, 0] += strain
        atoms.set_cell(atoms.cell.array @ deformation, scale_atoms=True)
        return alone(calculator, from_atoms(atoms))[0]

    atoms: Atoms = ice("TTT").to_atoms()
    calculator.calculate(atoms, ["energy", "forces", "stress"])
    stress = np.array(calculator.results["stress"]).reshape(3, 3)
    slope = (energy(2e-3) - energy(-2e-3)) / 4e-3 / atoms.get_volume()
    assert stress[0, 0] == pytest.approx(slope, rel=0.02)
