"""AIMNet2: published numbers, charges, and many molecules in one padded pass."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.calculator import Calculator

from assay.errors import AssayError, ModelFailure
from assay.model import BatchEvaluator, Model
from assay.models import aimnet2
from assay.models.loading import load_model
from assay.models.weights import fetch_weights
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("aimnet2")


@pytest.fixture(scope="module")
def path() -> Path:
    weights = aimnet2.MODELS["aimnet2"].weights
    assert weights is not None
    return fetch_weights(weights)


@pytest.fixture(scope="module", params=["aimnet2", "aimnet2-ensemble"])
def model(request: pytest.FixtureRequest) -> Model:
    return load_model(request.param)


@pytest.fixture(scope="module")
def calculator(model: Model) -> Calculator:
    return model.build()


@pytest.fixture(scope="module")
def batch(model: Model) -> BatchEvaluator:
    assert model.build_batch is not None
    return model.build_batch()


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
    atoms = structure.to_atoms()
    return calculator.get_potential_energy(atoms), calculator.get_forces(atoms)


def rounding(structure: Structure) -> float:
    """Energies of atoms have a float32 step each; 8 meV for the heaviest."""
    return float(sum(np.spacing(np.float32(80.0 * z**1.8)) for z in structure.numbers))


def dimers(distances: Sequence[float] = tuple(np.linspace(0.18, 6.0, 30))) -> list[Structure]:
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in distances]


def charged(name: str, charge: int) -> Structure:
    return replace(from_atoms(molecule(name)), charge=charge)


def test_water_has_the_published_energy_and_geometry() -> None:
    from ase.optimize import BFGS

    water = molecule("H2O")
    water.calc = load_model("aimnet2").build()
    assert water.get_potential_energy() == pytest.approx(-2081.041, abs=1e-3)
    BFGS(water, logfile=None).run(fmax=2e-3)
    assert water.get_distance(0, 1) == pytest.approx(0.9581, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(105.2, abs=0.2)


def test_the_card_has_the_elements_of_the_file(model: Model, batch: aimnet2.AimNet2Batch) -> None:
    assert batch.elements == model.card.elements == aimnet2.ELEMENTS


def test_a_batch_gives_what_the_calculator_gives(batch: BatchEvaluator, calculator: Calculator) -> None:
    molecules = [from_atoms(molecule(name)) for name in ("H2O", "CH3CH2OH", "SiH4", "CH3Cl")]
    lone, apart = Structure.build([6], [[3.0, 2.0, 1.0]]), Structure.build([6, 8], [[0, 0, 0], [30, 0, 0]])
    mixed = [*dimers(), *molecules, charged("OH", -1), lone, charged("NH3", 1), apart]
    answers = batch.evaluate(mixed)
    assert len(answers) == len(mixed)
    for structure, (energy, forces) in zip(mixed, answers, strict=True):
        expected, pushes = alone(calculator, structure)
        assert energy == pytest.approx(expected, abs=rounding(structure))
        assert forces.dtype == np.float64
        np.testing.assert_allclose(forces, pushes, rtol=0, atol=5e-5 * max(1.0, np.abs(pushes).max()))


def test_lone_atoms_have_one_energy_alone_and_in_a_batch(batch: BatchEvaluator, calculator: Calculator) -> None:
    atoms = [Structure.build([z], [[0, 0, 0]]) for z in (1, 6, 8)]
    for together in (atoms[:1], atoms):
        for structure, (energy, forces) in zip(together, batch.evaluate(together), strict=True):
            assert energy == pytest.approx(alone(calculator, structure)[0], abs=rounding(structure))
            assert not forces.any()


def test_an_empty_batch_is_empty(batch: BatchEvaluator) -> None:
    assert list(batch.evaluate([])) == []


def test_the_charge_reaches_the_network(batch: BatchEvaluator, calculator: Calculator) -> None:
    radical, hydroxide = charged("OH", 0), charged("OH", -1)
    energies = [energy for energy, _ in batch.evaluate([radical, hydroxide])]
    assert energies[0] - energies[1] > 1.0  # eV; the electron affinity of OH is 1.8 eV
    assert [alone(calculator, s)[0] for s in (radical, hydroxide)] == pytest.approx(energies, abs=1e-3)


def test_another_charge_of_the_same_atoms_is_computed_anew(calculator: Calculator) -> None:
    atoms = molecule("OH")
    atoms.calc = calculator
    neutral = atoms.get_potential_energy()
    atoms.info["charge"] = -1
    assert neutral - atoms.get_potential_energy() > 1.0
    atoms.info["charge"] = 0
    assert atoms.get_potential_energy() == neutral


def test_forces_are_the_slope_of_the_energy(batch: BatchEvaluator) -> None:
    atoms = molecule("CH3CH2OH")
    atoms.rattle(0.1, seed=1)
    start, step = from_atoms(atoms), 0.02
    moved = []
    for sign in (1, -1):
        for place in np.ndindex(len(atoms), 3):
            positions = start.positions.copy()
            positions[place] += sign * step
            moved.append(start.moved(positions))
    energies = np.array([energy for energy, _ in batch.evaluate(moved)]).reshape(2, -1, 3)
    forces = batch.evaluate([start])[0][1]
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=0.05)
    assert np.abs(forces).max() > 1.0


def test_untrained_elements_are_refused_though_the_file_takes_them(batch: Any, calculator: Calculator) -> None:
    import torch

    iron = Structure.build([26, 1, 1], molecule("H2O").positions)
    with pytest.raises(ModelFailure, match=r"does not support Fe \(Z = 26\)"):
        alone(calculator, iron)
    with pytest.raises(ModelFailure, match=r"does not support Fe \(Z = 26\)"):
        batch.evaluate([*dimers([1.2]), iron])
    given = {"coord": torch.tensor(iron.positions[None]), "numbers": torch.tensor(iron.numbers[None])}
    assert batch.network({**given, "charge": torch.zeros(1)})["energy"].isfinite().all()


def test_periodic_structures_are_refused(batch: BatchEvaluator, calculator: Calculator) -> None:
    diamond = from_atoms(bulk("C"))
    with pytest.raises(ModelFailure, match="molecules only"):
        alone(calculator, diamond)
    with pytest.raises(ModelFailure, match="molecules only"):
        batch.evaluate([diamond])


def test_precision_and_device_are_read_from_the_network(calculator: Calculator, model: Model) -> None:
    from assay.compute.engines.precision import as_used

    assert as_used(calculator) == {"precision": model.card.precision, "device": "cpu"}


def test_a_copy_of_the_file_is_the_same_model(tmp_path: Path, path: Path) -> None:
    mine = tmp_path / "mine.jpt"
    shutil.copy(path, mine)
    model = load_model(f"aimnet2:{mine}")
    assert model.name == "aimnet2:mine.jpt"
    assert model.card.elements == aimnet2.ELEMENTS
    assert model.build_batch is not None
    water = from_atoms(molecule("H2O"))
    for energy, _ in (alone(model.build(), water), *model.build_batch().evaluate([water])):
        assert energy == pytest.approx(-2081.041, abs=1e-3)


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def test_pickles_and_other_files_are_refused_and_do_not_run(tmp_path: Path) -> None:
    import torch

    trace, hostile, plain = tmp_path / "ran", tmp_path / "hostile.jpt", tmp_path / "plain.jpt"
    torch.save({"model": Payload(trace)}, hostile)
    plain.write_bytes(pickle.dumps(Payload(trace)))
    text = tmp_path / "notes.txt"
    text.write_text("no network")
    for file in (hostile, plain, text):
        with pytest.raises(AssayError, match=f"'{file.name}' is not a TorchScript file"):
            load_model(f"aimnet2:{file}")
    assert not trace.exists()
    torch.load(hostile, weights_only=False)  # the payload is alive
    assert trace.exists()


def test_another_network_is_refused(tmp_path: Path) -> None:
    import torch

    other = tmp_path / "other.jpt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(3, 1)), str(other))
    with pytest.raises(AssayError, match=r"'other\.jpt' has no AIMNet2 reference energies"):
        load_model(f"aimnet2:{other}")
