"""CHGNet: published numbers, many structures in one graph with its undirected bonds, and users' checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator

from assay.errors import AssayError, ModelFailure
from assay.model import Model
from assay.models import chgnet
from assay.models._bonds import undirected_bonds
from assay.models.loading import load_model
from assay.models.neighbours import neighbour_pairs
from assay.structure import Structure, from_atoms

pytestmark = [pytest.mark.family("chgnet"), pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")]

NAMES = ("chgnet-0.3.0", "chgnet-0.2.0", "chgnet-r2scan")


@cache
def opened(name: str) -> tuple[Model, Calculator, chgnet.ChgnetBatch]:
    """A model with its calculator and its batch; kept, because loading takes seconds."""
    model = load_model(name)
    assert model.build_batch is not None
    batch = model.build_batch()
    assert isinstance(batch, chgnet.ChgnetBatch)
    return model, model.build(), batch


def weights(name: str) -> Path:
    import chgnet as package

    inside = chgnet.MODELS[name].inside
    assert inside is not None
    return Path(package.__file__).parent / inside[1]


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
    calculator.results = {}
    calculator.calculate(structure.to_atoms(), ["energy", "forces"])
    return float(calculator.results["energy"]), np.array(calculator.results["forces"], dtype=float)


def assert_batch_is_single(name: str, structures: Sequence[Structure]) -> None:
    _, calculator, batch = opened(name)
    answers = batch.evaluate(structures)
    assert len(answers) == len(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        expected, pushes = alone(calculator, structure)
        assert energy == pytest.approx(expected, abs=1e-5 * max(1.0, abs(expected)))
        assert forces.dtype == np.float64
        np.testing.assert_allclose(forces, pushes, rtol=0, atol=1e-4 * max(1.0, np.abs(pushes).max()))


def dimers() -> list[Structure]:
    """From 0.5 Å: closer, the force of CHGNet 0.2.0 swings by 3000 eV/Å within 0.1 Å and magnifies rounding errors."""
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in np.linspace(0.5, 6.0, 30)]


def cell_of_four(pattern: str) -> Structure:
    """Four atoms in a skewed cell that is smaller than the cutoff."""
    cell = np.array([[3.4, 0.3, 0.2], [0.5, 3.6, -0.4], [0.1, 0.7, 4.0]])
    places = np.array([[0.2, 0.1, 0.3], [0.9, 0.7, 0.2], [0.2, 0.3, 1.6], [2.1, 2.2, 2.4]])
    return Structure.build([8, 1, 6, 7], places, cell, pattern)


def test_water_has_the_published_energy_and_geometry() -> None:
    from ase.optimize import BFGS

    _, calculator, batch = opened("chgnet-0.3.0")
    water = molecule("H2O")
    assert batch.evaluate([from_atoms(water)])[0][0] == pytest.approx(-14.807, abs=1e-3)
    water.calc = calculator
    assert water.get_potential_energy() == pytest.approx(-14.807, abs=1e-3)
    BFGS(water, logfile=None).run(fmax=3e-3)
    assert water.get_distance(0, 1) == pytest.approx(0.9769, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(103.4, abs=0.3)


@pytest.mark.parametrize("name", NAMES)
def test_the_calculator_gives_what_chgnet_itself_gives(name: str) -> None:
    from chgnet.model.dynamics import CHGNetCalculator
    from chgnet.model.model import CHGNet

    network = CHGNet.load(model_name=name.removeprefix("chgnet-"), use_device="cpu", verbose=False)
    upstream = CHGNetCalculator(model=network, use_device="cpu")
    salt = from_atoms(bulk("NaCl", "rocksalt", 5.4))
    salt = salt.moved(salt.positions + np.array([[0.1, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    energy, forces = alone(opened(name)[1], salt)
    expected, pushes = alone(upstream, salt)
    assert energy == expected
    np.testing.assert_array_equal(forces, pushes)


@pytest.mark.parametrize(("element", "lattice", "length"), [("Cu", "fcc", 3.616), ("Si", "diamond", 5.472)])
def test_crystals_have_the_published_lattice_constant(element: str, lattice: str, length: float) -> None:
    lengths = length * np.linspace(0.97, 1.03, 9)
    crystals = [from_atoms(bulk(element, lattice, a)) for a in lengths]
    energies = [energy for energy, _ in opened("chgnet-0.3.0")[2].evaluate(crystals)]
    extrema = np.roots(np.polyder(np.polyfit(lengths, energies, 3)))
    assert np.abs(extrema - length).min() < 0.004


def test_r2scan_knows_no_ytterbium() -> None:
    fitted = {
        name: opened(name)[2].network.composition_model.fc.weight.detach().numpy().ravel()
        for name in ("chgnet-0.3.0", "chgnet-r2scan")
    }
    silent = {name: [z for z, own in enumerate(values, 1) if abs(own) < 1e-9] for name, values in fitted.items()}
    assert silent == {"chgnet-0.3.0": [], "chgnet-r2scan": [70, 84, 85, 86, 87, 88]}
    left = [z for z in range(1, 95) if z not in silent["chgnet-r2scan"]]
    assert list(opened("chgnet-r2scan")[0].card.elements or ()) == left


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_gives_what_the_calculator_gives(name: str) -> None:
    """Dimers have no angles and the others do, for which CHGNet 0.2.0 uses a layer with an offset of its own."""
    molecules = [from_atoms(molecule(one)) for one in ("H2O", "CH3CH2OH", "SiH4")]
    silicon = bulk("Si").repeat(2)
    silicon.rattle(0.05, seed=1)
    slab = fcc111("Cu", (1, 1, 3), vacuum=8.0)
    crystals = [from_atoms(a) for a in (silicon, slab, bulk("NaCl", "rocksalt", 5.6), bulk("Cu"))]
    lone, apart = Structure.build([6], [[3.0, 2.0, 1.0]]), Structure.build([6, 8], [[0, 0, 0], [30, 0, 0]])
    mixed = [*dimers(), crystals[0], *molecules, lone, *crystals[1:], apart]
    assert_batch_is_single(name, [*mixed, cell_of_four("TTT"), cell_of_four("FTT")])


def test_atoms_without_neighbours_have_the_energy_of_atoms() -> None:
    carbon, oxygen = (Structure.build([z], [[0, 0, 0]]) for z in (6, 8))
    apart = Structure.build([6, 8], [[0, 0, 0], [0, 0, 9.0]])
    assert_batch_is_single("chgnet-0.3.0", [carbon])
    assert_batch_is_single("chgnet-0.3.0", [carbon, oxygen, apart])
    energies = [energy for energy, _ in opened("chgnet-0.3.0")[2].evaluate([carbon, oxygen, apart])]
    assert energies[2] == pytest.approx(energies[0] + energies[1], abs=1e-5)


def test_an_empty_batch_is_empty() -> None:
    assert list(opened("chgnet-0.3.0")[2].evaluate([])) == []


def test_a_molecule_without_a_cell_has_the_energy_of_one_in_a_large_box() -> None:
    _, calculator, batch = opened("chgnet-0.3.0")
    free, boxed = molecule("CH3CH2OH"), molecule("CH3CH2OH", cell=np.eye(3) * 20.0, pbc=True)
    boxed.center()
    expected, pushes = alone(calculator, from_atoms(boxed))
    for energy, forces in (alone(calculator, from_atoms(free)), batch.evaluate([from_atoms(free)])[0]):
        assert energy == pytest.approx(expected, abs=1e-4)
        np.testing.assert_allclose(forces, pushes, atol=1e-3)
    alone(calculator, from_atoms(free))
    assert "stress" not in calculator.results
    alone(calculator, from_atoms(boxed))
    assert "stress" in calculator.results


def test_a_calculator_that_completed_a_cell_answers_the_next_structure() -> None:
    atoms = molecule("H2O")
    atoms.calc = opened("chgnet-0.3.0")[1]
    first = atoms.get_potential_energy()
    atoms.positions[0, 2] += 0.1
    assert abs(atoms.get_potential_energy() - first) > 0.01
    assert not atoms.cell.any()


@pytest.mark.parametrize("pattern", ["TTF", "TFT", "FTT", "TFF", "FTF", "FFT"])
def test_directions_that_are_not_periodic_see_no_images(pattern: str) -> None:
    _, calculator, batch = opened("chgnet-0.3.0")
    atoms = cell_of_four(pattern).to_atoms()
    wide = atoms.copy()
    wide.cell[~atoms.pbc] = 40.0 * np.linalg.svd(atoms.cell.array[atoms.pbc])[2][atoms.pbc.sum() :]
    wide.pbc = True
    energy, forces = alone(calculator, from_atoms(wide))
    for found in (alone(calculator, cell_of_four(pattern)), batch.evaluate([cell_of_four(pattern)])[0]):
        assert found[0] == pytest.approx(energy, abs=1e-3)
        np.testing.assert_allclose(found[1], forces, atol=5e-3)
    assert abs(alone(calculator, cell_of_four("TTT"))[0] - energy) > 0.01


def test_forces_are_the_slope_of_the_energy() -> None:
    atoms = molecule("CH3CH2OH")
    atoms.rattle(0.1, seed=1)
    start, step = from_atoms(atoms), 0.004
    moved = []
    for sign in (1, -1):
        for place in np.ndindex(len(atoms), 3):
            positions = start.positions.copy()
            positions[place] += sign * step
            moved.append(start.moved(positions))
    batch = opened("chgnet-0.3.0")[2]
    energies = np.array([energy for energy, _ in batch.evaluate(moved)]).reshape(2, -1, 3)
    forces = batch.evaluate([start])[0][1]
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=0.02)
    assert np.abs(forces).max() > 1.0


def test_every_bond_has_two_directions() -> None:
    pairs = neighbour_pairs([cell_of_four("TTT"), from_atoms(bulk("Cu")), from_atoms(molecule("H2O"))], 5.0)
    number, one_way = undirected_bonds(pairs)
    assert np.bincount(number).tolist() == [2] * len(one_way)
    np.testing.assert_array_equal(number[one_way], np.arange(len(one_way)))
    for bond in range(len(one_way)):
        there, back = np.flatnonzero(number == bond)
        assert (pairs.first[there], pairs.second[there]) == (pairs.second[back], pairs.first[back])
        np.testing.assert_array_equal(pairs.shift[there], -pairs.shift[back])


def test_elements_beyond_the_network_are_refused() -> None:
    with pytest.raises(ModelFailure, match="up to 94, not 96"):
        opened("chgnet-0.3.0")[2].evaluate([Structure.build([96], [[0, 0, 0]])])


@pytest.mark.parametrize("name", NAMES)
def test_a_user_s_checkpoint_gives_the_same_numbers(tmp_path: Path, name: str) -> None:
    shutil.copy(weights(name), tmp_path / "mine.pth")
    named, mine = opened(name), load_model(f"chgnet:{tmp_path / 'mine.pth'}")
    assert mine.card.name == "chgnet:mine.pth"
    assert mine.card.elements is None
    assert mine.fingerprint != named[0].fingerprint
    assert mine.build_batch is not None
    ethanol = from_atoms(molecule("CH3CH2OH"))
    expected = alone(named[1], ethanol)[0]
    assert alone(mine.build(), ethanol)[0] == expected
    assert mine.build_batch().evaluate([ethanol])[0][0] == pytest.approx(expected, abs=1e-5)


def test_nothing_is_printed_when_a_model_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    load_model("chgnet-0.3.0").build()
    assert capsys.readouterr().out == ""


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


def test_a_hostile_checkpoint_is_refused_and_does_not_run(tmp_path: Path) -> None:
    import torch

    mark, path = tmp_path / "it-ran", tmp_path / "hostile.pth"
    torch.save({"model": Trap(mark)}, path)
    with pytest.raises(AssayError, match=r"hostile\.pth.*--trust-checkpoints"):
        load_model(f"chgnet:{path}")
    assert not mark.exists()


def test_files_that_are_no_chgnet_model_get_one_sentence(tmp_path: Path) -> None:
    import torch

    torch.save({"weights": torch.zeros(3)}, tmp_path / "other.pth")
    with pytest.raises(AssayError, match=r"'other\.pth' is not a CHGNet checkpoint"):
        load_model(f"chgnet:{tmp_path / 'other.pth'}")
    content = torch.load(weights("chgnet-0.3.0"), map_location="cpu")
    content["model"]["model_args"]["atom_fea_dim"] = 32
    torch.save(content, tmp_path / "wrong.pth")
    with pytest.raises(AssayError, match=r"weights in 'wrong\.pth' do not fit"):
        load_model(f"chgnet:{tmp_path / 'wrong.pth'}").build()
