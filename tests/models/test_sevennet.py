"""SevenNet: published numbers, one graph for a whole batch, and checkpoints of strangers."""

from __future__ import annotations

import importlib.util
import pickle
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator

from assay.errors import AssayError, ModelFailure
from assay.model import BatchEvaluator, Model
from assay.models import sevennet
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("sevennet")

SINGLE = 2e-5
"""Agreement of two float32 computations of the same thing, relative to the largest number in them."""


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("sevennet-0")


@pytest.fixture(scope="module")
def calculator(model: Model) -> Calculator:
    return model.build()


@pytest.fixture(scope="module")
def batch(model: Model) -> BatchEvaluator:
    assert model.build_batch is not None
    return model.build_batch()


@pytest.fixture(scope="module")
def shipped() -> Path:
    """The folder of checkpoints that comes with the package."""
    found = importlib.util.find_spec("sevenn")
    assert found is not None
    assert found.submodule_search_locations
    return Path(found.submodule_search_locations[0]) / "pretrained_potentials"


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
    atoms = structure.to_atoms()
    return calculator.get_potential_energy(atoms), calculator.get_forces(atoms)


def assert_batch_is_single(batch: BatchEvaluator, calculator: Calculator, structures: Sequence[Structure]) -> None:
    answers = batch.evaluate(structures)
    assert len(answers) == len(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        expected, pushes = alone(calculator, structure)
        assert energy == pytest.approx(expected, abs=SINGLE * max(1.0, abs(expected)))
        assert forces.dtype == np.float64
        np.testing.assert_allclose(forces, pushes, rtol=0, atol=SINGLE * max(1.0, np.abs(pushes).max()))


def dimers(distances: Sequence[float] = tuple(np.linspace(0.18, 6.0, 30))) -> list[Structure]:
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in distances]


def crystals() -> list[Structure]:
    slab = fcc111("Pt", (1, 1, 3), vacuum=None)
    chain = Atoms("CO", [[0, 0, 0], [1.3, 0.2, 0]], cell=[2.6, 0, 0], pbc=[True, False, False])
    found = []
    for atoms in (bulk("Cu"), bulk("NaCl", "rocksalt", a=5.6, cubic=True), slab, chain):
        atoms.rattle(0.05, seed=3)
        found.append(from_atoms(atoms))
    return found


@pytest.mark.parametrize(
    ("name", "energy"),
    [("sevennet-0", -14.094), ("sevennet-l3i5", -14.143), ("sevennet-mf-0-pbe", -14.231),
     ("sevennet-mf-0-r2scan", -15.432)],
)  # fmt: skip
def test_water_has_the_published_energy(name: str, energy: float) -> None:
    model = load_model(name)
    assert model.build_batch is not None
    water = from_atoms(molecule("H2O"))
    assert alone(model.build(), water)[0] == pytest.approx(energy, abs=2e-3)
    assert model.build_batch().evaluate([water])[0][0] == pytest.approx(energy, abs=2e-3)


def test_the_two_releases_of_sevennet_0_are_different_models(calculator: Calculator) -> None:
    first = load_model("sevennet-0-22may2024")
    water = from_atoms(molecule("H2O"))
    assert abs(alone(first.build(), water)[0] - alone(calculator, water)[0]) > 1e-3
    assert first.fingerprint != load_model("sevennet-0").fingerprint


def test_water_and_copper_have_the_published_geometry(calculator: Calculator) -> None:
    from ase.filters import FrechetCellFilter
    from ase.optimize import BFGS

    water = molecule("H2O")
    water.calc = calculator
    BFGS(water, logfile=None).run(fmax=2e-3)
    assert water.get_distance(0, 1) == pytest.approx(0.9713, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(103.9, abs=0.2)
    copper = bulk("Cu", cubic=True)
    copper.calc = calculator
    BFGS(FrechetCellFilter(copper), logfile=None).run(fmax=5e-3)
    assert copper.cell.lengths() == pytest.approx([3.612] * 3, abs=3e-3)


def test_the_card_has_the_elements_of_every_file(shipped: Path) -> None:
    import torch

    for file in shipped.glob("*/*.pth"):
        known = torch.load(file, map_location="cpu", weights_only=False)["config"]["_type_map"]
        assert tuple(sorted(known)) == sevennet.ELEMENTS


def test_a_batch_gives_what_the_calculator_gives(batch: BatchEvaluator, calculator: Calculator) -> None:
    molecules = [from_atoms(molecule(name)) for name in ("H2O", "CH3CH2OH")]
    lone = Structure.build([6], [[3.0, 2.0, 1.0]])
    apart = Structure.build([6, 8, 29], [[0, 0, 0], [30, 0, 0], [31, 1, 1]])
    assert_batch_is_single(batch, calculator, [*dimers(), *molecules, lone, *crystals(), apart])


def test_the_answer_does_not_depend_on_the_order(batch: BatchEvaluator) -> None:
    mixed = [*dimers([0.9, 1.2, 3.0]), *crystals(), from_atoms(molecule("CH3CH2OH"))]
    forward, backward = batch.evaluate(mixed), batch.evaluate(mixed[::-1])[::-1]
    for (one, pushes), (other, others) in zip(forward, backward, strict=True):
        assert one == pytest.approx(other, abs=SINGLE * max(1.0, abs(other)))
        np.testing.assert_allclose(pushes, others, rtol=0, atol=SINGLE * max(1.0, np.abs(others).max()))


def test_atoms_without_neighbours_have_their_own_energies(batch: BatchEvaluator, calculator: Calculator) -> None:
    carbon, oxygen = (Structure.build([z], [[0, 0, 0]]) for z in (6, 8))
    apart = Structure.build([6, 8], [[0, 0, 0], [0, 0, 9.0]])
    assert_batch_is_single(batch, calculator, [carbon])
    assert_batch_is_single(batch, calculator, [carbon, oxygen, apart])
    energies = [energy for energy, _ in batch.evaluate([carbon, oxygen, apart])]
    assert energies[2] == pytest.approx(energies[0] + energies[1], abs=1e-5)
    assert energies[0] == pytest.approx(-2.0688, abs=1e-4)


def test_an_empty_batch_is_empty(batch: BatchEvaluator) -> None:
    assert list(batch.evaluate([])) == []


@pytest.mark.parametrize("pattern", ["TTF", "TFT", "FTT", "TFF", "FTF", "FFT"])
def test_directions_that_are_not_periodic_see_no_images(
    calculator: Calculator, batch: BatchEvaluator, pattern: str
) -> None:
    cell = np.array([[4.0, 0.3, 0.2], [0.5, 4.5, -0.4], [0.1, 0.7, 5.0]])
    places = np.array([[0.2, 0.1, 0.3], [2.0, 2.3, 0.4], [2.2, 0.3, 2.6], [0.1, 2.2, 2.4]])
    periodic = np.array([letter == "T" for letter in pattern])
    atoms = Atoms("CuAuCuO", places, cell=cell, pbc=periodic)
    wide = atoms.copy()
    wide.cell[~periodic] = 40.0 * np.linalg.svd(cell[periodic])[2][periodic.sum() :]
    wide.pbc = True
    energy, forces = alone(calculator, from_atoms(wide))
    for found in (alone(calculator, from_atoms(atoms)), batch.evaluate([from_atoms(atoms)])[0]):
        assert found[0] == pytest.approx(energy, abs=1e-4)
        np.testing.assert_allclose(found[1], forces, atol=1e-4)
    everywhere = atoms.copy()
    everywhere.pbc = True
    assert abs(alone(calculator, from_atoms(everywhere))[0] - energy) > 0.1


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
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=0.02)
    assert np.abs(forces).max() > 1.0


def test_unknown_elements_are_refused_in_words(calculator: Calculator, batch: BatchEvaluator) -> None:
    astatine = Structure.build([85, 1], [[0, 0, 0], [0, 0, 1.7]])
    with pytest.raises(ModelFailure, match=r"does not support At \(Z = 85\)"):
        alone(calculator, astatine)
    with pytest.raises(ModelFailure, match=r"does not support At \(Z = 85\)"):
        batch.evaluate([*dimers([1.2]), astatine])


def test_a_refused_structure_can_carry_the_calculator(calculator: Calculator) -> None:
    atoms = Atoms("AtH", [[0, 0, 0], [0, 0, 1.7]])
    atoms.calc = calculator
    with pytest.raises(ModelFailure, match=r"does not support At \(Z = 85\)"):
        atoms.get_potential_energy()


def test_mirror_images_differ_as_the_card_says(batch: BatchEvaluator) -> None:
    cluster = Structure.build([8, 1, 6, 7], [[0, 0, 0], [1.0, 0.1, 0], [-0.4, 1.4, 0.2], [-0.6, -0.5, 1.3]])
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    energies = [e for e, _ in batch.evaluate([cluster.transformed(m) for m in (np.eye(3), turn, -np.eye(3))])]
    assert energies[1] == pytest.approx(energies[0], abs=1e-4)
    assert 1e-3 < abs(energies[2] - energies[0]) < 1.0


def test_precision_and_device_are_read_from_the_network(calculator: Calculator, model: Model) -> None:
    from assay.compute.engines.precision import as_used

    assert as_used(calculator) == {"precision": model.card.precision, "device": "cpu"}


def test_a_copy_of_the_weights_is_the_same_model(tmp_path: Path, shipped: Path, calculator: Calculator) -> None:
    mine = tmp_path / "mine.pth"
    shutil.copy(shipped / "SevenNet_0__11Jul2024" / "checkpoint_sevennet_0.pth", mine)
    model = load_model(f"sevennet:{mine}")
    assert model.name == "sevennet:mine.pth"
    assert model.card.elements == sevennet.ELEMENTS
    assert model.build_batch is not None
    assert_batch_is_single(model.build_batch(), calculator, [*dimers([0.9, 1.2, 3.0]), *crystals()])
    assert alone(model.build(), crystals()[0])[0] == pytest.approx(alone(calculator, crystals()[0])[0], abs=1e-5)


def test_a_head_of_a_checkpoint_is_chosen_by_name(tmp_path: Path, shipped: Path) -> None:
    mine = tmp_path / "mf.pth"
    shutil.copy(shipped / "SevenNet_MF_0" / "checkpoint_sevennet_mf_0.pth", mine)
    model = load_model(f"sevennet:{mine}@R2SCAN")
    assert model.name == "sevennet:mf.pth@R2SCAN"
    assert model.reference is not None
    again = load_model(model.reference)
    assert again.fingerprint == model.fingerprint != load_model(f"sevennet:{mine}@PBE").fingerprint
    assert alone(again.build(), from_atoms(molecule("H2O")))[0] == pytest.approx(-15.432, abs=2e-3)
    for wrong in (f"sevennet:{mine}", f"sevennet:{mine}@SCAN"):
        with pytest.raises(AssayError, match=r"several heads .*mf\.pth@R2SCAN or .*@PBE"):
            load_model(wrong)


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def test_a_hostile_checkpoint_is_refused_and_does_not_run(tmp_path: Path, shipped: Path) -> None:
    import torch

    trace = tmp_path / "ran"
    content = torch.load(
        shipped / "SevenNet_0__11Jul2024" / "checkpoint_sevennet_0.pth", map_location="cpu", weights_only=False
    )
    hostile = tmp_path / "hostile.pth"
    torch.save({**content, "config": {**content["config"], "extra": Payload(trace)}}, hostile)
    with pytest.raises(AssayError, match="cannot be opened without running code"):
        load_model(f"sevennet:{hostile}")
    assert not trace.exists()
    plain = tmp_path / "plain.pth"
    plain.write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(AssayError, match=r"plain\.pth"):
        load_model(f"sevennet:{plain}")
    assert not trace.exists()
    torch.load(hostile, weights_only=False)  # the payload is alive
    assert trace.exists()


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    import torch

    text, tensors = tmp_path / "notes.txt", tmp_path / "tensors.pth"
    text.write_text("no checkpoint")
    torch.save({"weight": torch.zeros(3)}, tensors)
    with pytest.raises(AssayError, match=r"'notes\.txt' is not a checkpoint"):
        load_model(f"sevennet:{text}")
    with pytest.raises(AssayError, match=r"'tensors\.pth' is not a SevenNet checkpoint"):
        load_model(f"sevennet:{tensors}")
    with pytest.raises(AssayError, match="there is no file"):
        load_model(f"sevennet:{tmp_path / 'absent.pth'}")


def test_the_weights_are_part_of_the_fingerprint() -> None:
    entry = sevennet.MODELS["sevennet-0"]
    other = sevennet.MODELS["sevennet-l3i5"]
    assert replace(entry, inside=other.inside).open().fingerprint != entry.open().fingerprint
