"""MACE: published numbers, many structures in one graph, and checkpoints that run no code."""

from __future__ import annotations

import pickle
import pickletools
import shutil
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator

from assay.errors import AssayError, ModelFailure
from assay.model import Model
from assay.models import mace
from assay.models._mace_checkpoint import read_network
from assay.models.loading import load_model
from assay.models.weights import fetch_weights
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("mace")

OFF, MP = "mace-off23-small", "mace-mp-0-small"
STEPS = {"float64": 1e-12, "float32": 2e-6}
"""Relative size of rounding errors after a whole network."""


@cache
def opened(name: str) -> tuple[Model, Calculator, mace.MaceBatch]:
    """A model with its calculator and its batch; kept, because loading takes seconds."""
    model = load_model(name)
    assert model.build_batch is not None
    batch = model.build_batch()
    assert isinstance(batch, mace.MaceBatch)
    return model, model.build(), batch


def weights(name: str) -> Path:
    file = mace.MODELS[name].weights
    assert file is not None
    return fetch_weights(file)


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
    atoms = structure.to_atoms()
    calculator.calculate(atoms, ["energy", "forces"])
    return float(calculator.results["energy"]), np.array(calculator.results["forces"], dtype=float)


def assert_batch_is_single(name: str, structures: Sequence[Structure]) -> None:
    model, calculator, batch = opened(name)
    step = STEPS[str(model.card.precision)]
    answers = batch.evaluate(structures)
    assert len(answers) == len(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        expected, pushes = alone(calculator, structure)
        assert energy == pytest.approx(expected, abs=5 * step * max(1.0, abs(expected)))
        assert forces.dtype == np.float64
        np.testing.assert_allclose(forces, pushes, rtol=0, atol=10 * step * max(1.0, np.abs(pushes).max()))


def dimers(count: int = 30) -> list[Structure]:
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in np.linspace(0.18, 6.0, count)]


def cell_of_four(pattern: str) -> Structure:
    """Four atoms in a skewed cell that is smaller than the cutoff."""
    cell = np.array([[3.4, 0.3, 0.2], [0.5, 3.6, -0.4], [0.1, 0.7, 4.0]])
    places = np.array([[0.2, 0.1, 0.3], [0.9, 0.7, 0.2], [0.2, 0.3, 1.6], [2.1, 2.2, 2.4]])
    return Structure.build([8, 1, 6, 7], places, cell, pattern)


@pytest.mark.parametrize(
    ("name", "energy", "bond", "angle"), [(OFF, -2081.116, 0.9588, 105.0), (MP, -14.048, 0.9743, 105.6)]
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


@pytest.mark.parametrize(("element", "length"), [("Cu", 3.613), ("Si", 5.461)])
def test_crystals_have_the_published_lattice_constant(element: str, length: float) -> None:
    lattice = "fcc" if element == "Cu" else "diamond"
    lengths = length * np.linspace(0.97, 1.03, 9)
    crystals = [from_atoms(bulk(element, lattice, a)) for a in lengths]
    energies = [energy for energy, _ in opened(MP)[2].evaluate(crystals)]
    extrema = np.roots(np.polyder(np.polyfit(lengths, energies, 3)))
    assert np.abs(extrema - length).min() < 0.006


@pytest.mark.parametrize("name", [OFF, MP])
def test_cards_say_what_the_files_hold(name: str) -> None:
    model, calculator, _ = opened(name)
    network = calculator.models[0]
    assert tuple(network.atomic_numbers.tolist()) == model.card.elements
    used = {str(p.dtype).removeprefix("torch.") for p in network.parameters()}
    assert used == {model.card.precision} == {calculator.as_used["precision"]}
    assert calculator.as_used["device"] == "cpu"


@pytest.mark.parametrize("name", [OFF, MP])
def test_a_batch_gives_what_the_calculator_gives(name: str) -> None:
    molecules = [from_atoms(molecule(one)) for one in ("H2O", "CH3CH2OH", "CH3Cl")]
    lone, apart = Structure.build([6], [[3.0, 2.0, 1.0]]), Structure.build([6, 8], [[0, 0, 0], [30, 0, 0]])
    assert_batch_is_single(name, [*dimers(), cell_of_four("TTT"), *molecules, lone, cell_of_four("TFT"), apart])


def test_a_batch_of_crystals_gives_what_the_calculator_gives() -> None:
    silicon = bulk("Si").repeat(2)
    silicon.rattle(0.05, seed=1)
    slab = fcc111("Cu", (1, 1, 3), vacuum=8.0)
    assert_batch_is_single(MP, [from_atoms(a) for a in (silicon, slab, bulk("NaCl", "rocksalt", 5.6), molecule("H2O"))])


def test_a_large_batch_is_cut_into_passes_that_cover_it_in_order() -> None:
    batch = opened(MP)[2]
    structures = dimers(400)
    sizes = np.arange(401) * 4
    passes = list(batch._passes(sizes))
    assert len(passes) > 2
    assert [start for start, _ in passes] == [0, *(stop for _, stop in passes[:-1])]
    assert passes[-1][1] == 400
    together = np.array([energy for energy, _ in batch.evaluate(structures)])
    each = np.array([batch.evaluate([structure])[0][0] for structure in structures[::40]])
    np.testing.assert_allclose(together[::40], each, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [OFF, MP])
def test_atoms_without_neighbours_have_the_energy_of_atoms(name: str) -> None:
    carbon, oxygen = (Structure.build([z], [[0, 0, 0]]) for z in (6, 8))
    apart = Structure.build([6, 8], [[0, 0, 0], [0, 0, 9.0]])
    assert_batch_is_single(name, [carbon])
    assert_batch_is_single(name, [carbon, oxygen, apart])
    energies = [energy for energy, _ in opened(name)[2].evaluate([carbon, oxygen, apart])]
    assert energies[2] == pytest.approx(energies[0] + energies[1], rel=1e-6)


def test_an_empty_batch_is_empty() -> None:
    assert list(opened(OFF)[2].evaluate([])) == []


def test_forces_are_the_slope_of_the_energy() -> None:
    atoms = molecule("CH3CH2OH")
    atoms.rattle(0.1, seed=1)
    start, step = from_atoms(atoms), 1e-4
    moved = []
    for sign in (1, -1):
        for place in np.ndindex(len(atoms), 3):
            positions = start.positions.copy()
            positions[place] += sign * step
            moved.append(start.moved(positions))
    batch = opened(OFF)[2]
    energies = np.array([energy for energy, _ in batch.evaluate(moved)]).reshape(2, -1, 3)
    forces = batch.evaluate([start])[0][1]
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=1e-5)
    assert np.abs(forces).max() > 1.0


@pytest.mark.parametrize("pattern", ["TTF", "TFT", "FTT", "TFF", "FTF", "FFT"])
def test_directions_that_are_not_periodic_see_no_images(pattern: str) -> None:
    _, calculator, batch = opened(OFF)
    atoms = cell_of_four(pattern).to_atoms()
    wide = atoms.copy()
    wide.cell[~atoms.pbc] = 40.0 * np.linalg.svd(atoms.cell.array[atoms.pbc])[2][atoms.pbc.sum() :]
    wide.pbc = True
    energy, forces = alone(calculator, from_atoms(wide))
    for found in (alone(calculator, cell_of_four(pattern)), batch.evaluate([cell_of_four(pattern)])[0]):
        assert found[0] == pytest.approx(energy, abs=1e-8)
        np.testing.assert_allclose(found[1], forces, atol=1e-8)
    assert abs(alone(calculator, cell_of_four("TTT"))[0] - energy) > 0.01


def test_the_quicker_layers_equal_those_of_mace() -> None:
    import torch

    from assay.models._mace_layers import CubicProduct, ElementLinear

    network, quick = read_network(weights(OFF), "cpu"), opened(OFF)[2].network
    own, other = network.products[0].symmetric_contractions.contractions[0], quick.products[0]
    cubic = other.symmetric_contractions.contractions[0]
    linear = quick.interactions[0].skip_tp
    assert isinstance(cubic, CubicProduct)
    assert isinstance(linear, ElementLinear)
    torch.manual_seed(1)
    kinds = torch.nn.functional.one_hot(torch.randint(0, 10, (40,)), 10).double()
    features = torch.randn(40, 96, 16, dtype=torch.float64, requires_grad=True)
    pull = torch.randn(40, 96, dtype=torch.float64)
    results = [layer(features, kinds) for layer in (own, cubic)]
    torch.testing.assert_close(results[1], results[0], rtol=1e-10, atol=1e-10)
    slopes = [torch.autograd.grad(result, features, pull)[0] for result in results]
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-10, atol=1e-10)
    mixed = torch.randn(40, linear.width, dtype=torch.float64)
    torch.testing.assert_close(linear(mixed, kinds), network.interactions[0].skip_tp(mixed, kinds))


def test_unknown_elements_are_refused() -> None:
    _, calculator, batch = opened(OFF)
    silane = from_atoms(molecule("SiH4"))
    with pytest.raises(ModelFailure, match=r"does not support Si \(Z = 14\)"):
        batch.evaluate([silane])
    with pytest.raises(ValueError, match="14"):
        alone(calculator, silane)


def test_a_refusal_leaves_the_precision_of_other_models_alone() -> None:
    import torch

    with pytest.raises(ValueError, match="14"):
        alone(opened(OFF)[1], from_atoms(molecule("SiH4")))
    assert torch.get_default_dtype() == torch.float32


def test_a_user_s_checkpoint_gives_the_same_numbers(tmp_path: Path) -> None:
    shutil.copy(weights(OFF), tmp_path / "mine.model")
    named, mine = opened(OFF), load_model(f"mace:{tmp_path / 'mine.model'}")
    assert mine.card.name == "mace:mine.model"
    assert mine.card.elements == named[0].card.elements
    assert mine.card.precision == "float64"
    assert mine.fingerprint != named[0].fingerprint
    assert mine.build_batch is not None
    ethanol = from_atoms(molecule("CH3CH2OH"))
    expected, pushes = alone(named[1], ethanol)
    for energy, forces in (alone(mine.build(), ethanol), mine.build_batch().evaluate([ethanol])[0]):
        assert energy == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(forces, pushes, atol=1e-9)


def test_a_checkpoint_s_own_code_is_not_run(tmp_path: Path) -> None:
    """The source text inside a MACE file is Python that unpickling executes; here it would leave a mark."""
    import torch

    mark, path = tmp_path / "it-ran", tmp_path / "spoiled.model"
    with zipfile.ZipFile(weights(OFF)) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            spoil = entry.filename.endswith("data.pkl")
            target.writestr(entry, _with_trap(content, f"open({str(mark)!r}, 'w').close()\n") if spoil else content)
    model = load_model(f"mace:{path}")
    assert alone(model.build(), from_atoms(molecule("H2O")))[0] == pytest.approx(-2081.116, abs=1e-3)
    assert not mark.exists()
    torch.load(path, weights_only=False)
    assert mark.exists()


def _with_trap(content: bytes, line: str) -> bytes:
    """A pickle of a MACE model in which a line is put before the imports of every piece of source text."""
    for operation, value, at in reversed([*pickletools.genops(content)]):
        if operation.name == "BINUNICODE" and value.startswith("NoneType = type(None)"):
            end = at + 5 + len(value.encode())
            text = (line + value).encode()
            content = content[: at + 1] + len(text).to_bytes(4, "little") + text + content[end:]
    return content


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("torch_file", [True, False])
def test_a_hostile_checkpoint_is_refused_and_does_not_run(tmp_path: Path, torch_file: bool) -> None:
    import torch

    mark, path = tmp_path / "it-ran", tmp_path / "hostile.model"
    if torch_file:
        torch.save({"model": Trap(mark)}, path)
    else:
        path.write_bytes(pickle.dumps(Trap(mark)))
    with pytest.raises(AssayError, match=r"hostile\.model"):
        load_model(f"mace:{path}")
    assert not mark.exists()


def test_files_that_are_no_mace_model_get_one_sentence(tmp_path: Path) -> None:
    import torch

    torch.save({"weights": torch.zeros(3)}, tmp_path / "other.pt")
    (tmp_path / "text.model").write_text("no network here")
    with pytest.raises(AssayError, match=r"'other\.pt' holds a dict, not a MACE model"):
        load_model(f"mace:{tmp_path / 'other.pt'}")
    with pytest.raises(AssayError, match=r"'text\.model'.*cannot|'text\.model' is not a checkpoint"):
        load_model(f"mace:{tmp_path / 'text.model'}")
    with pytest.raises(AssayError, match=r"there is no file"):
        load_model(f"mace:{tmp_path / 'absent.model'}")
