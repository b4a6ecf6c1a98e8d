"""SO3LR: short-range network, long-range physics, charged molecules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule

from assay.configurations import crystal
from assay.errors import ModelFailure
from assay.model import PERIODIC_PATTERNS, Model
from assay.models.loading import load_model
from assay.models.so3lr import ELEMENTS, LONG_RANGE
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("so3lr")


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("so3lr")


@pytest.fixture(scope="module")
def calculator(model: Model):
    return model.build()


def evaluate(calculator, structure: Structure) -> tuple[float, np.ndarray]:
    calculator.reset()  # an answer that was kept proves nothing
    atoms = structure.to_atoms()
    atoms.calc = calculator
    return float(atoms.get_potential_energy()), atoms.get_forces()


def cell(pattern: str) -> Structure:
    """Four atoms in a skewed cell that is smaller than the cutoffs."""
    sites = [[0.0, 0.0, 0.0], [0.96, 0.1, 0.0], [0.0, 1.4, 1.5], [1.2, 2.0, 2.2]]
    return Structure.build([8, 1, 6, 1], sites, [[4.0, 0.1, 0.2], [-0.1, 4.4, 0.1], [0.2, 0.0, 4.8]], pattern)


def mixture() -> list[Structure]:
    """Molecules, ions, lone atoms, pairs beyond either cutoff, and all periodic patterns."""
    ethanol = molecule("CH3CH2OH")
    ethanol.rattle(0.05, seed=1)
    pairs = [Atoms("CO", [[0, 0, 0], [0, 0, r]]) for r in (0.18, 1.1, 4.6, 11.9, 13.0)]
    ions = [replace(from_atoms(molecule(name)), charge=q) for name, q in (("OH", -1), ("NH3", 1))]
    neutral = [from_atoms(a) for a in (molecule("H2O"), Atoms("O"), ethanol, *pairs)]
    return [*neutral, *ions, *(cell(pattern) for pattern in PERIODIC_PATTERNS)]


def test_water_has_the_published_energy(calculator) -> None:
    assert evaluate(calculator, from_atoms(molecule("H2O")))[0] == pytest.approx(-495.871, abs=1e-3)


def test_water_relaxes_to_the_published_geometry(calculator) -> None:
    from ase.optimize import BFGS

    water = molecule("H2O")
    water.calc = calculator
    assert BFGS(water, logfile=None).run(fmax=0.005, steps=100)
    assert water.get_distance(0, 1) == pytest.approx(0.9638, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(102.6, abs=0.2)


def test_forces_are_the_slope_of_the_energy(calculator) -> None:
    """To what single precision lets one see: an energy of -500 eV has steps of 3e-5 eV."""
    ion = replace(from_atoms(molecule("OH")), charge=-1)
    positions, step = ion.positions + np.array([[0.0, 0.0, 0.0], [0.02, 0.05, 0.04]]), 0.02
    _, forces = evaluate(calculator, ion.moved(positions))
    for i, x in np.ndindex(forces.shape):
        moved = [positions.copy() for _ in range(2)]
        moved[0][i, x] += step
        moved[1][i, x] -= step
        up, down = (evaluate(calculator, ion.moved(m))[0] for m in moved)
        assert forces[i, x] == pytest.approx(-(up - down) / (2 * step), abs=0.03)
    assert np.abs(forces).max() > 0.3


def test_a_batch_gives_what_the_calculator_gives(model: Model, calculator) -> None:
    structures = mixture()
    assert model.build_batch is not None
    answers = model.build_batch().evaluate(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        alone, pull = evaluate(calculator, structure)
        assert energy == pytest.approx(alone, rel=3e-7)
        assert np.abs(forces - pull).max() <= 2e-5 + 4e-6 * np.abs(pull).max()
        assert forces.dtype == np.float64


def test_a_batch_of_lone_atoms_and_an_empty_one(model: Model, calculator) -> None:
    assert model.build_batch is not None
    lone = [Structure.build([z], [[0.0, 0.0, 0.0]]) for z in ELEMENTS]
    for structure, (energy, forces) in zip(lone, model.build_batch().evaluate(lone), strict=True):
        assert energy == pytest.approx(evaluate(calculator, structure)[0], rel=2e-7)
        assert np.abs(forces).max() == 0.0
    assert list(model.build_batch().evaluate([])) == []


def test_charge_counts_and_is_noticed_when_it_changes(calculator) -> None:
    ion = molecule("OH")
    ion.calc = calculator
    energies = []
    for charge in (0, -1, 1):
        ion.info["charge"] = charge
        energies.append(ion.get_potential_energy())
        assert calculator.results["partial_charges"].sum() == pytest.approx(charge, abs=1e-5)
    assert energies == pytest.approx([-326.320, -328.030, -324.041], abs=2e-3)


def test_spin_has_no_effect_because_its_parameters_were_never_trained(calculator) -> None:
    """A trained input has left its random start, as that for the charge has for the elements of the training set."""
    radical = from_atoms(molecule("OH"))
    assert evaluate(calculator, replace(radical, spin=2))[0] == evaluate(calculator, radical)[0]
    network, trained = calculator.models[0], [z - 1 for z in ELEMENTS]
    lengths = [e.Wq.weight.detach().norm(dim=0)[trained] for e in (network.charge_embedding, network.spin_embedding)]
    assert float(lengths[0].mean()) > 3.0
    assert float(lengths[1].max()) < 1.2


def test_the_claimed_elements_are_those_that_were_trained(calculator) -> None:
    scales = calculator.models[0].atomic_energy_output_block.energy_scales.weight.detach().reshape(-1).numpy()
    assert tuple(np.flatnonzero(scales != 1.0) + 1) == ELEMENTS


@pytest.mark.parametrize("number", [2, 14, 35])
def test_elements_outside_the_claim_are_refused(model: Model, calculator, number: int) -> None:
    pair = Structure.build([number, number], [[0, 0, 0], [0, 0, 2.5]])
    with pytest.raises(ModelFailure, match=str(number)):
        evaluate(calculator, pair)
    with pytest.raises(ModelFailure, match=str(number)):
        model.build_batch().evaluate([pair])  # type: ignore[misc]


@pytest.mark.parametrize("pattern", [p for p in PERIODIC_PATTERNS if p != "TTT"])
def test_a_direction_without_period_is_like_much_vacuum(calculator, pattern: str) -> None:
    body = cell(pattern)
    lengths = np.where(body.pbc, 1.0, (LONG_RANGE + 10.0) / 3.0)
    boxed = replace(body, cell=body.cell * lengths[:, None], pbc=(True, True, True))
    (energy, forces), (other, pull) = evaluate(calculator, body), evaluate(calculator, boxed)
    assert energy == pytest.approx(other, rel=2e-7)
    assert np.abs(forces - pull).max() < 2e-5
    crystal = evaluate(calculator, replace(body, pbc=(True, True, True)))[0]
    assert abs(crystal - energy) > 0.01


def test_a_doubled_cell_has_twice_the_energy(calculator) -> None:
    """The cell is shorter than either cutoff, so atoms meet many images, of themselves too."""
    single, double = (evaluate(calculator, cell("TTT").repeated((n, 1, 1)))[0] for n in (1, 2))
    assert double == pytest.approx(2 * single, rel=3e-7)


def test_stress_is_that_of_the_energy_and_for_crystals_only(calculator) -> None:
    crystal, strain = cell("TTT"), 0.01
    calculator.calculate(crystal.to_atoms(), ["energy", "stress"])
    stress = calculator.results["stress"]
    for k in range(3):
        stretched = [crystal.transformed(np.eye(3) + s * strain * np.diag(np.eye(3)[k])) for s in (1, -1)]
        up, down = (evaluate(calculator, s)[0] for s in stretched)
        assert stress[k] == pytest.approx((up - down) / (2 * strain * crystal.volume), abs=2e-3)
    calculator.calculate(cell("TTF").to_atoms(), ["energy", "stress"])
    assert "stress" not in calculator.results


def test_precision_is_that_of_the_card(model: Model, calculator) -> None:
    assert {str(p.dtype) for p in calculator.models[0].parameters()} == {f"torch.{model.card.precision}"}


def test_forces_jump_where_a_volume_ratio_passes_through_zero(calculator) -> None:
    """Why the model fails `forces_match_energy`: it takes the absolute value of a ratio that is negative for some."""
    carbon = crystal((6,))
    ratios, pulls = [], []
    for shift in (0.004, 0.005, 0.006):
        positions = carbon.positions.copy()
        positions[2, 1] += shift
        pulls.append(evaluate(calculator, carbon.moved(positions))[1][2, 1])
        ratios.append(calculator.results["hirshfeld_ratios"][2])
    assert max(ratios) < 0.01
    assert ratios[0] > ratios[1] < ratios[2]
    assert abs(pulls[1] - pulls[0]) > 3.0
    assert abs(pulls[2] - pulls[1]) < 0.2
