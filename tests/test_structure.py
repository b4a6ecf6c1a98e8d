"""A structure keeps atoms, cell and periodic directions, and its changed copies are exact."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

from assay.structure import Structure, from_atoms
from toys import distances

CELL = np.array([[3.0, 0.0, 0.0], [0.5, 4.0, 0.0], [0.0, 0.3, 5.0]])
matrices = hnp.arrays(np.float64, (3, 3), elements=st.floats(-2.0, 2.0))
lengths = hnp.arrays(np.float64, (4, 3), elements=st.floats(-10.0, 10.0))


def molecule() -> Structure:
    return Structure.build([8, 1, 1], [[0.0, 0.0, 0.1], [0.0, 0.8, -0.5], [0.0, -0.8, -0.5]])


def crystal(pbc: str = "TTT") -> Structure:
    return Structure.build([29, 79], [[0.1, 0.2, 0.3], [1.5, 2.0, 2.5]], CELL, pbc)


def test_a_structure_has_a_size_a_pattern_and_a_volume() -> None:
    assert len(molecule()) == 3
    assert (molecule().pattern, crystal("TFT").pattern) == ("FFF", "TFT")
    assert crystal().volume == pytest.approx(60.0)
    assert crystal().transformed(np.diag([1.0, 1.0, -1.0])).volume == pytest.approx(60.0)
    assert molecule().volume == 0.0


def test_a_structure_is_a_copy_of_its_inputs_and_cannot_be_changed() -> None:
    positions, cell = np.zeros((1, 3)), np.eye(3)
    structure = Structure.build([1], positions, cell, "TTT")
    positions += 1.0
    cell += 1.0
    assert not structure.positions.any()
    assert np.array_equal(structure.cell, np.eye(3))
    with pytest.raises(FrozenInstanceError):
        structure.charge = 1  # type: ignore[misc]


@pytest.mark.parametrize("times", [(1, 1, 1), (2, 1, 1), (1, 2, 3), (2, 2, 2)])
def test_a_supercell_has_every_copy_once_and_the_original_atoms_first(times: tuple[int, int, int]) -> None:
    once, many = crystal(), crystal().repeated(times)
    count = int(np.prod(times))
    assert len(many) == 2 * count
    assert many.volume == pytest.approx(count * once.volume)
    assert [row.tolist() for row in many.cell] == [(n * row).tolist() for n, row in zip(times, CELL, strict=True)]
    assert np.array_equal(many.positions[:2], once.positions)
    assert np.array_equal(many.numbers, np.tile(once.numbers, count))
    expected = {tuple(np.round(np.array(shift) @ CELL, 9)) for shift in product(*map(range, times))}
    for atom in range(2):
        shifts = {tuple(np.round(row, 9)) for row in many.positions[atom::2] - once.positions[atom]}
        assert shifts == expected


def test_a_supercell_agrees_with_that_of_ase() -> None:
    atoms = bulk("Cu", cubic=True)
    ours, theirs = from_atoms(atoms).repeated((2, 1, 3)), atoms.repeat((2, 1, 3))
    assert np.array_equal(ours.cell, theirs.cell.array)
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=1e-12)


def test_a_matrix_acts_on_columns() -> None:
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x → y
    turned = Structure.build([1], [[1.0, 0.0, 0.0]], np.diag([2.0, 3.0, 4.0]), "TTT").transformed(quarter)
    assert turned.positions.tolist() == [[0.0, 1.0, 0.0]]
    assert turned.cell.tolist() == [[0.0, 2.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]


@given(matrices, matrices)
def test_two_transformations_are_equal_to_their_product(first: np.ndarray, second: np.ndarray) -> None:
    one_by_one = crystal().transformed(first).transformed(second)
    at_once = crystal().transformed(second @ first)
    np.testing.assert_allclose(one_by_one.positions, at_once.positions, atol=1e-12)
    np.testing.assert_allclose(one_by_one.cell, at_once.cell, atol=1e-12)
    assert one_by_one.volume == pytest.approx(60.0 * abs(np.linalg.det(first) * np.linalg.det(second)), abs=1e-9)


@given(lengths, st.integers(0, 2**31 - 1))
def test_rotation_and_inversion_keep_distances(positions: np.ndarray, seed: int) -> None:
    structure = Structure.build([1, 6, 7, 8], positions)
    rotation = Rotation.random(random_state=seed).as_matrix()
    for matrix in (rotation, -rotation):
        np.testing.assert_allclose(distances(structure.transformed(matrix).positions), distances(positions), atol=1e-9)


@given(st.permutations(range(4)), lengths)
def test_atoms_in_another_order_keep_their_positions(order: list[int], positions: np.ndarray) -> None:
    structure = replace(Structure.build([1, 6, 7, 8], positions, CELL, "TTF"), charge=-1, spin=2)
    other = structure.reordered(order)
    assert other.numbers.tolist() == [structure.numbers[i] for i in order]
    assert np.array_equal(other.positions, positions[order])
    back = other.reordered(np.argsort(order))
    assert np.array_equal(back.positions, positions)
    assert (back.charge, back.spin, back.pattern) == (-1, 2, "TTF")


def test_moved_atoms_are_the_same_atoms() -> None:
    charged = replace(crystal(), charge=1)
    other = charged.moved(charged.positions + 1.0)
    assert (other.charge, other.pattern) == (1, "TTT")
    assert np.array_equal(other.positions - charged.positions, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("charge", "spin", "info"),
    [
        (None, None, {}),
        (0, None, {"charge": 0}),
        (-1, 2, {"charge": -1, "spin": 2}),
        (None, 1, {"spin": 1}),
    ],
)
def test_charge_and_spin_are_in_info_unless_they_are_none(
    charge: int | None, spin: int | None, info: dict[str, int]
) -> None:
    structure = replace(molecule(), charge=charge, spin=spin)
    assert structure.info == info
    atoms = structure.to_atoms()
    assert atoms.info == info
    back = from_atoms(atoms)
    assert (back.charge, back.spin) == (charge, spin)


@pytest.mark.parametrize("pbc", ["".join(p) for p in product("TF", repeat=3)])
def test_conversion_to_ase_and_back_is_exact(pbc: str) -> None:
    structure = crystal(pbc)
    atoms = structure.to_atoms()
    assert atoms.pbc.tolist() == [letter == "T" for letter in pbc]
    assert atoms.get_chemical_symbols() == ["Cu", "Au"]
    back = from_atoms(atoms)
    for field in ("numbers", "positions", "cell"):
        assert getattr(back, field).tobytes() == getattr(structure, field).tobytes()
    assert back.pbc == structure.pbc


def test_a_structure_does_not_share_memory_with_atoms() -> None:
    atoms = Atoms("Cu", positions=[[0.0, 0.0, 0.0]], cell=[3.0] * 3, pbc=True)
    structure = from_atoms(atoms)
    copy = structure.to_atoms()
    for other in (atoms, copy):
        other.positions += 1.0
        other.cell[0, 0] = 9.0
        other.numbers[0] = 1
    assert not structure.positions.any()
    assert structure.cell[0, 0] == 3.0
    assert structure.numbers.tolist() == [29]
