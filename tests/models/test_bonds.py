"""Bonds and pairs of bonds in a batch are those that a search through all pairs finds."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.models._bonds import bond_pairs, undirected_bonds
from assay.models.neighbours import neighbour_pairs
from assay.structure import Structure


def random_structures(seed: int) -> list[Structure]:
    """A cluster of four atoms, and three atoms in a periodic cell that is smaller than the cutoff."""
    rng = np.random.default_rng(seed)
    cluster = Structure.build([6] * 4, rng.uniform(0.0, 4.0, (4, 3)))
    crystal = Structure.build(
        [6] * 3, rng.uniform(0.0, 3.0, (3, 3)), 3.0 * np.eye(3) + rng.normal(scale=0.2, size=(3, 3)), "TTT"
    )
    return [cluster, crystal]


@given(st.integers(0, 99))
def test_pairs_of_bonds_start_at_the_same_atom(seed: int) -> None:
    pairs = neighbour_pairs(random_structures(seed), 4.0)
    short = np.linalg.norm(pairs.vector, axis=1) < 3.0
    found, per_bond = bond_pairs(pairs.first, short)
    at_atom = [np.flatnonzero(short & (pairs.first == atom)) for atom in range(pairs.offsets[-1])]
    expected = sorted((int(a), int(b)) for bonds in at_atom for a, b in permutations(bonds, 2))
    assert sorted(map(tuple, found.tolist())) == expected
    assert per_bond.tolist() == np.bincount(found[:, 0], minlength=len(pairs.first)).tolist()


@given(st.integers(0, 99))
def test_both_directions_of_a_bond_have_the_same_number(seed: int) -> None:
    pairs = neighbour_pairs(random_structures(seed), 4.0)
    number, one_way = undirected_bonds(pairs)
    assert len(one_way) == len(number) // 2
    assert number[one_way].tolist() == list(range(len(one_way)))
    for bond in range(len(one_way)):
        there, back = np.flatnonzero(number == bond)
        assert (pairs.first[there], pairs.second[there]) == (pairs.second[back], pairs.first[back])
        assert pairs.shift[there].tolist() == (-pairs.shift[back]).tolist()
        np.testing.assert_allclose(pairs.vector[there], -pairs.vector[back])


def test_atoms_without_neighbours_have_no_bonds() -> None:
    pairs = neighbour_pairs([Structure.build([1], [[0.0, 0.0, 0.0]])], 5.0)
    found, per_bond = bond_pairs(pairs.first, np.zeros(0, dtype=bool))
    assert found.shape == (0, 2)
    assert len(per_bond) == 0
    assert [len(part) for part in undirected_bonds(pairs)] == [0, 0]
