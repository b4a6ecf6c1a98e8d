"""ANI-2x in JAX: padding changes no number, few shapes are compiled, and files run no code."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model
from assay.models import fennol
from assay.models._fennol_batch import FennolBatch, load_network
from assay.models._fennol_padding import closed_cell, padded_arrays, padded_size
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms

pytestmark = pytest.mark.family("fennol")


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model("ani-2x")


@pytest.fixture(scope="module")
def calculator(model: Model):
    return model.build()


@pytest.fixture(scope="module")
def batch(model: Model) -> FennolBatch:
    assert model.build_batch is not None
    found = model.build_batch()
    assert isinstance(found, FennolBatch)
    return found


def checkpoint(model: Model) -> Path:
    """The file that the model was built from."""
    return Path(model.build.args[0])  # type: ignore[attr-defined]


def evaluate(calculator, structure: Structure) -> tuple[float, np.ndarray]:
    calculator.reset()  # an answer that was kept proves nothing
    atoms = structure.to_atoms()
    atoms.calc = calculator
    return float(atoms.get_potential_energy()), atoms.get_forces()


def rattled(name: str) -> Structure:
    atoms = molecule(name)
    atoms.rattle(0.05, seed=7)
    return from_atoms(atoms)


def cell(pattern: str) -> Structure:
    """Four atoms in a skewed cell that is smaller than the cutoff."""
    sites = [[0.0, 0.0, 0.0], [0.96, 0.1, 0.0], [0.0, 1.4, 1.5], [1.2, 2.0, 2.2]]
    return Structure.build([8, 1, 6, 1], sites, [[4.0, 0.1, 0.2], [-0.1, 4.4, 0.1], [0.2, 0.0, 4.8]], pattern)


def test_water_has_the_published_energy_and_geometry(calculator) -> None:
    from ase.optimize import BFGS

    water = molecule("H2O")
    water.calc = calculator
    assert water.get_potential_energy() == pytest.approx(-0.040, abs=1e-3)
    assert BFGS(water, logfile=None).run(fmax=0.005, steps=100)
    assert water.get_distance(0, 1) == pytest.approx(0.9639, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(104.1, abs=0.2)


def test_padding_gives_what_fennol_gives_without(model: Model, calculator) -> None:
    """FeNNol's calculator on arrays of exact size, of one structure at a time."""
    from fennol.ase import FENNIXCalculator

    bare = FENNIXCalculator(str(checkpoint(model)), gpu_preprocessing=False)
    for structure in (rattled("CH3CH2OH"), cell("TTT")):
        atoms = structure.to_atoms()
        atoms.calc = bare
        energy, forces = evaluate(calculator, structure)
        assert energy == pytest.approx(atoms.get_potential_energy(), abs=3e-6)
        assert np.abs(forces - atoms.get_forces()).max() < 1e-5
        bare = FENNIXCalculator(str(checkpoint(model)), gpu_preprocessing=False)


def test_forces_are_the_slope_of_the_energy(calculator) -> None:
    body, h = cell("TTF"), 0.003
    _, forces = evaluate(calculator, body)
    for i, x in np.ndindex(forces.shape):
        moved = [body.positions.copy() for _ in range(2)]
        moved[0][i, x] += h
        moved[1][i, x] -= h
        up, down = (evaluate(calculator, body.moved(m))[0] for m in moved)
        assert forces[i, x] == pytest.approx(-(up - down) / (2 * h), abs=3e-3 + 2e-3 * np.abs(forces).max())
    assert np.abs(forces).max() > 0.5


def test_a_batch_gives_what_the_calculator_gives(batch: FennolBatch, calculator) -> None:
    pairs = [Atoms("CO", [[0, 0, 0], [0, 0, r]]) for r in (0.18, 1.1, 5.0, 7.0)]
    names = ("H2O", "CH3CH2OH", "C6H6", "CH3Cl", "SO2")
    open_ones = [*map(rattled, names), *(from_atoms(a) for a in (Atoms("H"), *pairs, Atoms("Cl")))]
    structures = [cell("TTT"), *open_ones, *(cell(p) for p in ("TTF", "FTF"))]
    for structure, (energy, forces) in zip(structures, batch.evaluate(structures), strict=True):
        alone, pull = evaluate(calculator, structure)
        assert energy == pytest.approx(alone, abs=1e-5)
        assert np.abs(forces - pull).max() <= 1e-5 + 2e-6 * np.abs(pull).max()
        assert forces.shape == (len(structure), 3)
        assert forces.dtype == np.float64


def test_a_batch_of_lone_atoms_and_an_empty_one(batch: FennolBatch, calculator) -> None:
    lone = [Structure.build([z], [[0.0, 0.0, 0.0]]) for z in (1, 6, 8)]
    for structure, (energy, forces) in zip(lone, batch.evaluate(lone), strict=True):
        assert energy == pytest.approx(evaluate(calculator, structure)[0], abs=2e-6)
        assert np.abs(forces).max() == 0.0
    assert batch.evaluate([]) == []


def test_an_answer_does_not_depend_on_earlier_ones(model: Model) -> None:
    """To the last bit: arrays that stay large after a large system would change how sums are rounded."""
    structures = [cell("TTT"), rattled("CH3CH2OH"), cell("TTF").repeated((2, 2, 1))]
    used = model.build()
    load_network.cache_clear()
    fresh = model.build()
    for structure in (cell("TTT").repeated((2, 2, 2)), rattled("C6H6"), *structures):
        evaluate(used, structure)
    for structure in structures:
        (energy, forces), (again, pull) = evaluate(used, structure), evaluate(fresh, structure)
        assert energy == again
        np.testing.assert_array_equal(forces, pull)


def test_many_sizes_and_compositions_compile_three_shapes(model: Model) -> None:
    """From one atom to sixteen, whatever they are: rooms for 4, 8 and 16 atoms."""
    load_network.cache_clear()
    fresh = FennolBatch(checkpoint(model), model.card.elements)
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16):
        for spread in (1.0, 4.0):
            numbers = rng.choice(model.card.elements, count)  # type: ignore[arg-type]
            fresh.evaluate([Structure.build(numbers, rng.uniform(-spread, spread, (count, 3)))])
    assert fresh.network._energy_and_forces._cache_size() == 3


@pytest.mark.parametrize(("count", "size"), [(1, 4), (4, 4), (5, 8), (16, 16), (17, 24), (25, 32), (33, 48), (97, 128)])
def test_sizes_come_in_steps(count: int, size: int) -> None:
    assert padded_size(count) == size
    assert padded_size(size) == size


def test_padding_is_an_empty_system_of_no_element() -> None:
    water = from_atoms(molecule("H2O"))
    arrays = padded_arrays([water, water], 8, 4)
    assert arrays["natoms"].tolist() == [3, 3, 0, 0]
    assert arrays["species"].tolist() == [8, 1, 1, 8, 1, 1, -1, -1]
    assert arrays["batch_index"].tolist() == [0, 0, 0, 1, 1, 1, 3, 3]
    assert "cells" not in arrays


@pytest.mark.parametrize("pattern", PERIODIC_PATTERNS)
def test_the_cell_given_to_fennol_keeps_images_apart(pattern: str) -> None:
    body, cutoff = cell(pattern), 5.1
    closed = closed_cell(body, cutoff)
    periodic = np.array(body.pbc)
    np.testing.assert_array_equal(closed[periodic], body.cell[periodic])
    for vector in closed[~periodic]:
        assert np.linalg.norm(vector) > cutoff + np.ptp(body.positions @ vector) / np.linalg.norm(vector)
        assert np.abs(body.cell[periodic] @ vector).max() < 1e-9


@pytest.mark.parametrize("pattern", ["TTF", "FTF"])
def test_a_direction_without_period_is_like_much_vacuum(calculator, pattern: str) -> None:
    body = cell(pattern)
    lengths = np.where(body.pbc, 1.0, 4.0)
    boxed = replace(body, cell=body.cell * lengths[:, None], pbc=(True, True, True))
    (energy, forces), (other, pull) = evaluate(calculator, body), evaluate(calculator, boxed)
    assert energy == pytest.approx(other, abs=1e-5)
    assert np.abs(forces - pull).max() < 1e-4
    crystal = evaluate(calculator, replace(body, pbc=(True, True, True)))[0]
    assert abs(crystal - energy) > 0.01


def test_stress_is_that_of_the_energy_and_for_crystals_only(calculator) -> None:
    crystal, strain = cell("TTT"), 0.003
    calculator.calculate(crystal.to_atoms(), ["energy", "stress"])
    stress = calculator.results["stress"]
    for k in range(3):
        stretched = [crystal.transformed(np.eye(3) + s * strain * np.diag(np.eye(3)[k])) for s in (1, -1)]
        up, down = (evaluate(calculator, s)[0] for s in stretched)
        assert stress[k] == pytest.approx((up - down) / (2 * strain * crystal.volume), abs=1e-3)
    calculator.calculate(cell("TTF").to_atoms(), ["energy", "stress"])
    assert "stress" not in calculator.results


def test_charges_are_refused_and_zero_is_no_charge(batch: FennolBatch, calculator) -> None:
    water = from_atoms(molecule("H2O"))
    assert evaluate(calculator, replace(water, charge=0, spin=1))[0] == evaluate(calculator, water)[0]
    with pytest.raises(ModelFailure, match="neutral"):
        batch.evaluate([water, replace(water, charge=1)])
    atoms = water.to_atoms()
    atoms.calc = calculator
    atoms.get_potential_energy()
    atoms.info["charge"] = 1  # must not be answered with what is remembered of the neutral molecule
    with pytest.raises(ModelFailure, match="neutral"):
        atoms.get_potential_energy()


@pytest.mark.parametrize("number", [2, 14, 15, 35])
def test_elements_outside_the_claim_are_refused(batch: FennolBatch, calculator, number: int) -> None:
    pair = Structure.build([number, 1], [[0, 0, 0], [0, 0, 1.5]])
    with pytest.raises(ModelFailure, match=str(number)):
        evaluate(calculator, pair)
    with pytest.raises(ModelFailure, match=str(number)):
        batch.evaluate([pair])


def test_what_was_used_is_read_from_the_weights(model: Model, calculator) -> None:
    assert calculator.as_used == {"precision": model.card.precision, "device": "cpu"}


def test_a_copy_of_the_file_opens_as_a_users_own(model: Model, calculator, tmp_path: Path) -> None:
    own = tmp_path / "mine.fnx"
    own.write_bytes(checkpoint(model).read_bytes())
    opened = load_model(f"fennol:{own}")
    assert opened.name == "fennol:mine.fnx"
    assert opened.card.elements == model.card.elements
    water = from_atoms(molecule("H2O"))
    assert evaluate(opened.build(), water)[0] == pytest.approx(evaluate(calculator, water)[0], abs=1e-6)


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__.__base__.__subclasses__()",
        "jnp.load",
        "tanh if load('x') else tanh",
        "[tanh][0]",
        'getattr(nn, "x")',
    ],
)
def test_a_file_with_code_in_it_is_refused(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    """FeNNol evaluates the names of activations, so an .fnx file is not as harmless as it looks."""
    from flax.serialization import msgpack_restore, msgpack_serialize

    monkeypatch.delenv("ASSAY_TRUST_CHECKPOINTS", raising=False)
    content = msgpack_restore(checkpoint(model).read_bytes())
    dict(content["modules"])["energy"]["activation"] = expression
    evil = tmp_path / "evil.fnx"
    evil.write_bytes(msgpack_serialize(content))
    with pytest.raises(AssayError, match=r"'evil.fnx' cannot be opened without running code .* --trust-checkpoints"):
        load_model(f"fennol:{evil}")


def test_a_missing_package_is_answered_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AssayError, match=r"pip install 'mlip-assay\[fennol\]'"):
        fennol.open_model("any.file")


class Hostile:
    """Unpickled carelessly, this makes a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


def test_pickles_and_other_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_TRUST_CHECKPOINTS", raising=False)
    trap = tmp_path / "trap"
    for name in ("evil.pkl", "evil.pickle", "evil.fnx"):
        (tmp_path / name).write_bytes(pickle.dumps(Hostile(trap)))
        with pytest.raises(AssayError, match=name):
            load_model(f"fennol:{tmp_path / name}")
        assert not trap.exists()
