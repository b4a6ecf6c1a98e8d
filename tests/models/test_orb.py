"""Orb-d3-xs-v2: a real model whose forces are not the slope of its energy."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from assay.errors import AssayError, ModelFailure
from assay.model import Model
from assay.models import orb
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("orb")

NAME = "orb-d3-xs-v2"


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(NAME)


@pytest.fixture(scope="module")
def calculator(model: Model):
    return model.build()


def checkpoint(model: Model) -> Path:
    """The file that the model was built from."""
    return Path(model.build.args[0])  # type: ignore[attr-defined]


def evaluate(calculator, structure: Structure) -> tuple[float, np.ndarray]:
    calculator.reset()  # an answer that was kept proves nothing
    atoms = structure.to_atoms()
    atoms.calc = calculator
    return float(atoms.get_potential_energy()), atoms.get_forces()


def mixture() -> list[Structure]:
    """Molecules, lone atoms, pairs beyond the cutoff, crystals with more neighbours than Orb looks at."""
    water_box = molecule("H2O", vacuum=2.0, pbc=True)
    silicon = bulk("Si", cubic=True)
    silicon.rattle(0.05, seed=1)
    pair = [Atoms("CO", [[0, 0, 0], [0, 0, r]]) for r in (0.18, 1.1, 5.9, 7.0)]
    return [
        from_atoms(a) for a in (molecule("H2O"), Atoms("O"), water_box, *pair, bulk("Cu"), molecule("C6H6"), silicon)
    ]


def test_water_has_the_published_energy(calculator) -> None:
    energy, forces = evaluate(calculator, from_atoms(molecule("H2O")))
    assert energy == pytest.approx(-14.333, abs=1e-3)
    assert np.abs(forces.sum(axis=0)).max() < 1e-5


def test_copper_has_its_lattice_constant(calculator) -> None:
    lengths = np.linspace(3.50, 3.62, 7)
    energies = [evaluate(calculator, from_atoms(bulk("Cu", a=a)))[0] for a in lengths]
    curve = np.polyfit(lengths, energies, 2)
    assert -curve[1] / (2 * curve[0]) == pytest.approx(3.56, abs=0.01)


def test_forces_are_not_the_slope_of_the_energy(calculator) -> None:
    """The whole point of this model in the list: if they agree, an adapter or a new release has changed the model."""
    water = molecule("H2O")
    water.rattle(0.05, seed=3)
    structure, step = from_atoms(water), 0.01
    _, forces = evaluate(calculator, structure)
    slopes = np.zeros_like(forces, dtype=float)
    for i, x in np.ndindex(slopes.shape):
        moved = [structure.positions.copy() for _ in range(2)]
        moved[0][i, x] += step
        moved[1][i, x] -= step
        up, down = (evaluate(calculator, structure.moved(m))[0] for m in moved)
        slopes[i, x] = -(up - down) / (2 * step)
    assert np.abs(forces - slopes).max() > 0.5


def test_a_batch_gives_what_the_calculator_gives(model: Model, calculator) -> None:
    structures = mixture()
    assert model.build_batch is not None
    answers = model.build_batch().evaluate(structures)
    assert len(answers) == len(structures)
    for structure, (energy, forces) in zip(structures, answers, strict=True):
        alone, pull = evaluate(calculator, structure)
        assert energy == pytest.approx(alone, abs=2e-5)
        assert np.abs(forces - pull).max() <= 2e-5 + 2e-6 * np.abs(pull).max()
        assert forces.dtype == np.float64


def test_a_batch_of_lone_atoms_and_an_empty_one(model: Model, calculator) -> None:
    assert model.build_batch is not None
    batch = model.build_batch()
    lone = [Structure.build([z], [[0.0, 0.0, 0.0]]) for z in (1, 8)]
    for structure, (energy, _) in zip(lone, batch.evaluate(lone), strict=True):
        assert energy == pytest.approx(evaluate(calculator, structure)[0], abs=1e-5)
    assert list(batch.evaluate([])) == []


def test_charges_are_refused_and_zero_is_no_charge(model: Model, calculator) -> None:
    water = from_atoms(molecule("H2O"))
    plain = evaluate(calculator, water)[0]
    for neutral in (replace(water, charge=0), replace(water, charge=0, spin=1), replace(water, spin=1)):
        assert evaluate(calculator, neutral)[0] == plain
    with pytest.raises(ModelFailure, match="neutral"):
        model.build_batch().evaluate([water, replace(water, charge=1)])  # type: ignore[misc]
    atoms = water.to_atoms()
    atoms.calc = calculator
    atoms.get_potential_energy()
    atoms.info["charge"] = 1  # must not be answered with what is remembered of the neutral molecule
    with pytest.raises(ModelFailure, match="neutral"):
        atoms.get_potential_energy()


@pytest.mark.parametrize("number", [84, 88, 95, 118])
def test_elements_outside_the_claim_are_refused(model: Model, calculator, number: int) -> None:
    pair = Structure.build([number, number], [[0, 0, 0], [0, 0, 2.5]])
    assert number not in model.card.elements  # type: ignore[operator]
    with pytest.raises(ModelFailure, match=str(number)):
        evaluate(calculator, pair)
    with pytest.raises(ModelFailure, match=str(number)):
        model.build_batch().evaluate([pair])  # type: ignore[misc]


def test_slabs_and_wires_are_not_claimed_because_orb_refuses_them(model: Model, calculator) -> None:
    assert model.card.pbc == ("FFF", "TTT")
    for pattern in ("TTF", "TFF"):
        slab = Structure.build([29], [[0, 0, 0]], 3.6 * np.eye(3), pattern)
        with pytest.raises(NotImplementedError):
            evaluate(calculator, slab)


def test_precision_is_that_of_the_card(calculator) -> None:
    assert {str(p.dtype) for p in calculator.model.parameters()} == {f"torch.{orb.MODELS[NAME].card.precision}"}


def test_a_copy_of_the_checkpoint_opens_as_a_users_own(model: Model, calculator, tmp_path: Path) -> None:
    own = tmp_path / "mine.ckpt"
    own.write_bytes(checkpoint(model).read_bytes())
    opened = load_model(f"orb:{own}")
    assert opened.name == "orb:mine.ckpt"
    water = from_atoms(molecule("H2O"))
    assert evaluate(opened.build(), water)[0] == evaluate(calculator, water)[0]


def test_a_checkpoint_with_a_part_missing_is_refused(model: Model, tmp_path: Path) -> None:
    """Orb's own loader would leave a missing head at random numbers."""
    import torch

    weights = torch.load(checkpoint(model), weights_only=True)
    short = {name: value for name, value in weights.items() if not name.startswith("node_head.")}
    torch.save(short, tmp_path / "headless.ckpt")
    with pytest.raises(AssayError, match=r"'headless.ckpt' is not a complete Orb v2 checkpoint"):
        load_model(f"orb:{tmp_path / 'headless.ckpt'}").build()
    torch.save({"a": torch.zeros(1)}, tmp_path / "other.ckpt")
    with pytest.raises(AssayError, match="no message-passing layers"):
        load_model(f"orb:{tmp_path / 'other.ckpt'}").build()


def test_a_missing_package_is_answered_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AssayError, match=r"pip install 'mlip-assay\[orb\]'"):
        orb.open_model("any.file")


class Hostile:
    """Unpickled carelessly, this makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_a_hostile_checkpoint_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.delenv("ASSAY_TRUST_CHECKPOINTS", raising=False)
    trap = tmp_path / "trap"
    torch.save({"gnn_stacks.0.x": Hostile(trap)}, tmp_path / "evil.ckpt")
    (tmp_path / "plain.ckpt").write_bytes(pickle.dumps(Hostile(trap)))
    for name in ("evil.ckpt", "plain.ckpt"):
        with pytest.raises(AssayError, match=name):
            load_model(f"orb:{tmp_path / name}").build()
        assert not trap.exists()
