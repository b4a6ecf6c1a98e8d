"""MatterSim: published numbers, many structures in one graph with its pairs of bonds, and users' checkpoints."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator

from assay.errors import AssayError, ModelFailure
from assay.model import Model
from assay.models import mattersim
from assay.models._bonds import bond_pairs
from assay.models.loading import load_model
from assay.models.weights import fetch_weights
from assay.structure import Structure, from_atoms

pytestmark = [pytest.mark.family("mattersim"), pytest.mark.filterwarnings("ignore:No PBC detected")]

SMALL, LARGE = "mattersim-1m", "mattersim-5m"


@cache
def opened(name: str) -> tuple[Model, Calculator, mattersim.MatterSimBatch]:
    """A model with its calculator and its batch; kept, because loading takes seconds."""
    model = load_model(name)
    assert model.build_batch is not None
    batch = model.build_batch()
    assert isinstance(batch, mattersim.MatterSimBatch)
    return model, model.build(), batch


def weights() -> Path:
    file = mattersim.MODELS[SMALL].weights
    assert file is not None
    return fetch_weights(file)


def alone(calculator: Calculator, structure: Structure) -> tuple[float, np.ndarray]:
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


def dimers(count: int = 30) -> list[Structure]:
    return [Structure.build([6, 8], [[0, 0, 0], [0.36 * r, 0.48 * r, 0.8 * r]]) for r in np.linspace(0.18, 6.0, count)]


@pytest.mark.parametrize(("name", "energy", "bond"), [(SMALL, -14.084, 0.9769), (LARGE, -14.129, 0.9773)])
def test_water_has_the_published_energy_and_geometry(name: str, energy: float, bond: float) -> None:
    from ase.optimize import BFGS

    _, calculator, batch = opened(name)
    water = molecule("H2O")
    assert batch.evaluate([from_atoms(water)])[0][0] == pytest.approx(energy, abs=1e-3)
    water.calc = calculator
    assert water.get_potential_energy() == pytest.approx(energy, abs=1e-3)
    BFGS(water, logfile=None).run(fmax=3e-3)
    assert water.get_distance(0, 1) == pytest.approx(bond, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(103.5, abs=0.3)


@pytest.mark.parametrize(
    ("name", "element", "lattice", "length"),
    [(SMALL, "Cu", "fcc", 3.616), (SMALL, "Si", "diamond", 5.464), (LARGE, "Cu", "fcc", 3.618)],
)
def test_crystals_have_the_published_lattice_constant(name: str, element: str, lattice: str, length: float) -> None:
    lengths = length * np.linspace(0.97, 1.03, 9)
    crystals = [from_atoms(bulk(element, lattice, a)) for a in lengths]
    energies = [energy for energy, _ in opened(name)[2].evaluate(crystals)]
    extrema = np.roots(np.polyder(np.polyfit(lengths, energies, 3)))
    assert np.abs(extrema - length).min() < 0.003


@pytest.mark.parametrize("name", [SMALL, LARGE])
def test_cards_say_what_the_files_hold(name: str) -> None:
    model, calculator, _ = opened(name)
    network = calculator.potential.model
    assert mattersim._fitted_elements(network.state_dict()) == list(model.card.elements or ())
    assert {str(p.dtype) for p in network.parameters()} == {f"torch.{model.card.precision}"}


@pytest.mark.parametrize("name", [SMALL, LARGE])
def test_a_batch_gives_what_the_calculator_gives(name: str) -> None:
    molecules = [from_atoms(molecule(one)) for one in ("H2O", "CH3CH2OH", "SiH4")]
    silicon = bulk("Si").repeat(2)
    silicon.rattle(0.05, seed=1)
    slab = fcc111("Cu", (1, 1, 3), vacuum=8.0)
    slab.pbc = True
    crystals = [from_atoms(a) for a in (silicon, slab, bulk("NaCl", "rocksalt", 5.6), bulk("Cu"))]
    lone, apart = Structure.build([6], [[3.0, 2.0, 1.0]]), Structure.build([6, 8], [[0, 0, 0], [30, 0, 0]])
    assert_batch_is_single(name, [*dimers(), crystals[0], *molecules, lone, *crystals[1:], apart])


def test_atoms_without_neighbours_have_the_energy_of_atoms() -> None:
    carbon, oxygen = (Structure.build([z], [[0, 0, 0]]) for z in (6, 8))
    apart = Structure.build([6, 8], [[0, 0, 0], [0, 0, 9.0]])
    assert_batch_is_single(SMALL, [carbon])
    assert_batch_is_single(SMALL, [carbon, oxygen, apart])
    energies = [energy for energy, _ in opened(SMALL)[2].evaluate([carbon, oxygen, apart])]
    assert energies[2] == pytest.approx(energies[0] + energies[1], abs=1e-5)


def test_a_batch_with_too_many_pairs_of_bonds_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = opened(SMALL)[2]
    mixed = [from_atoms(bulk("Cu")), from_atoms(molecule("H2O")), *dimers(), from_atoms(bulk("Si"))]
    whole = batch.evaluate(mixed)
    passes: list[int] = []
    forward = batch._graph
    monkeypatch.setattr(batch, "_graph", lambda some, pairs: passes.append(len(some)) or forward(some, pairs))
    monkeypatch.setattr("assay.models._mattersim_batch.PASS_SIZE", 100)
    for (energy, forces), (other, pushes) in zip(whole, batch.evaluate(mixed), strict=True):
        assert other == pytest.approx(energy, rel=1e-5)
        np.testing.assert_allclose(pushes, forces, atol=1e-4 * max(1.0, np.abs(forces).max()))
    assert len(passes) > 1
    assert sum(passes) == len(mixed)


def test_where_a_structure_lies_does_not_matter() -> None:
    water = from_atoms(molecule("H2O"))
    far = water.moved(water.positions + 3000.0)
    (energy, forces), (other, pushes) = opened(SMALL)[2].evaluate([water, far])
    assert other == pytest.approx(energy, abs=1e-5)
    np.testing.assert_allclose(pushes, forces, atol=1e-3)


def test_a_batch_rounds_positions_as_the_calculator_does() -> None:
    """Atoms on both sides of the origin are folded to both ends of a box, where single precision is coarser."""
    places = np.array([[0.5, 0.3, -0.6], [-0.5, 0.4, 0.5], [0.6, -0.5, 0.4], [0.0, 0.0, -1.6]])
    dense = Structure.build([8] * 4, 0.9 * places)
    expected = alone(opened(SMALL)[1], dense)[0]
    assert opened(SMALL)[2].evaluate([dense, *dimers()])[0][0] == pytest.approx(expected, abs=5e-6)


def test_an_empty_batch_is_empty() -> None:
    assert list(opened(SMALL)[2].evaluate([])) == []


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
    batch = opened(SMALL)[2]
    energies = np.array([energy for energy, _ in batch.evaluate(moved)]).reshape(2, -1, 3)
    forces = batch.evaluate([start])[0][1]
    np.testing.assert_allclose(forces, (energies[1] - energies[0]) / (2 * step), atol=0.02)
    assert np.abs(forces).max() > 1.0


def test_pairs_of_bonds_are_all_ordered_pairs_at_an_atom() -> None:
    first = np.array([0, 0, 0, 1, 3, 3, 3])
    near = np.array([True, False, True, True, True, True, True])
    found, per_bond = bond_pairs(first, near)
    assert found.tolist() == [[0, 2], [2, 0], *map(list, permutations((4, 5, 6), 2))]
    assert per_bond.tolist() == [1, 0, 1, 0, 2, 2, 2]


def test_pairs_of_bonds_of_nothing() -> None:
    found, per_bond = bond_pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
    assert found.shape == (0, 2)
    assert per_bond.shape == (0,)


def test_slabs_are_not_claimed_because_the_calculator_tears_them() -> None:
    model, calculator, batch = opened(SMALL)
    slab = from_atoms(fcc111("Cu", (1, 1, 3), vacuum=15.0))
    low = slab.moved(slab.positions - [0.0, 0.0, 17.0])
    assert abs(alone(calculator, slab)[0] - alone(calculator, low)[0]) > 0.5  # eV; it should be nothing
    assert model.card.pbc == ("FFF", "TTT")
    with pytest.raises(ModelFailure, match="in all directions or in none"):
        batch.evaluate([slab])


def test_elements_beyond_the_network_are_refused() -> None:
    with pytest.raises(ModelFailure, match="up to 94, not 96"):
        opened(SMALL)[2].evaluate([Structure.build([96], [[0, 0, 0]])])


def test_a_user_s_checkpoint_gives_the_same_numbers(tmp_path: Path) -> None:
    shutil.copy(weights(), tmp_path / "mine.pth")
    named, mine = opened(SMALL), load_model(f"mattersim:{tmp_path / 'mine.pth'}")
    assert mine.card.name == "mattersim:mine.pth"
    assert mine.card.elements == named[0].card.elements
    assert mine.fingerprint != named[0].fingerprint
    assert mine.build_batch is not None
    ethanol = from_atoms(molecule("CH3CH2OH"))
    expected = alone(named[1], ethanol)[0]
    assert alone(mine.build(), ethanol)[0] == expected
    assert mine.build_batch().evaluate([ethanol])[0][0] == pytest.approx(expected, abs=1e-5)


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return open, (str(self.path), "w")


def test_a_hostile_checkpoint_is_refused_and_does_not_run(tmp_path: Path) -> None:
    import torch

    mark, path = tmp_path / "it-ran", tmp_path / "hostile.pth"
    torch.save({"model": {}, "model_args": Trap(mark)}, path)
    with pytest.raises(AssayError, match=r"hostile\.pth.*--trust-checkpoints"):
        load_model(f"mattersim:{path}")
    assert not mark.exists()


def test_files_that_are_no_mattersim_model_get_one_sentence(tmp_path: Path) -> None:
    import torch

    torch.save({"weights": torch.zeros(3)}, tmp_path / "other.pth")
    with pytest.raises(AssayError, match=r"'other\.pth' is not a MatterSim checkpoint"):
        load_model(f"mattersim:{tmp_path / 'other.pth'}")
    content = torch.load(weights(), map_location="cpu")
    torch.save({**content, "model_args": {**content["model_args"], "units": 64}}, tmp_path / "wrong.pth")
    with pytest.raises(AssayError, match=r"weights in 'wrong\.pth' do not fit"):
        load_model(f"mattersim:{tmp_path / 'wrong.pth'}").build()
