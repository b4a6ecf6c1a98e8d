"""Neighbour pairs of a batch are the same as in the neighbour lists that ASE makes for each structure."""

from __future__ import annotations

import numpy as np
import pytest
from ase.neighborlist import primitive_neighbor_list
from hypothesis import given
from hypothesis import strategies as st

import assay.models.neighbours
from assay.models.neighbours import neighbour_pairs
from assay.structure import Structure

PATTERNS = ("FFF", "TTT", "TTF", "TFF", "FFT", "FTF")


def random_structure(seed: int, atoms: int, pattern: str) -> Structure:
    """Atoms inside and outside of a small oblique cell."""
    rng = np.random.default_rng(seed)
    cell = 3.0 * np.eye(3) + rng.normal(scale=0.4, size=(3, 3))
    return Structure.build([6] * atoms, rng.uniform(-4.0, 7.0, (atoms, 3)), cell, pattern)


def expected(structure: Structure, cutoff: float) -> list[tuple[int, ...]]:
    first, second, shift = primitive_neighbor_list("ijS", structure.pbc, structure.cell, structure.positions, cutoff)
    return sorted(zip(first, second, *shift.T, strict=True))


def check(structures: list[Structure], cutoff: float) -> None:
    found = neighbour_pairs(structures, cutoff)
    assert np.all(np.diff(found.structure) >= 0)
    assert len(found.atom_structure) == sum(len(s) for s in structures) == found.offsets[-1]
    for index, structure in enumerate(structures):
        mine, start = found.structure == index, found.offsets[index]
        rows = zip(found.first[mine] - start, found.second[mine] - start, *found.shift[mine].T, strict=True)
        assert sorted(rows) == expected(structure, cutoff)
        ends = structure.positions[found.second[mine] - start] + found.shift[mine] @ structure.cell
        np.testing.assert_allclose(found.vector[mine], ends - structure.positions[found.first[mine] - start])


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 5), st.sampled_from(PATTERNS)), min_size=1, max_size=5))
def test_a_batch_has_the_pairs_of_each_structure(kinds: list[tuple[int, int, str]]) -> None:
    check([random_structure(*kind) for kind in kinds], 4.0)


def test_pairs_do_not_depend_on_how_many_are_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assay.models.neighbours, "PAIRS_AT_ONCE", 5)
    check([random_structure(seed, 3, pattern) for seed, pattern in enumerate(PATTERNS)], 4.0)


def test_no_structures_and_lone_atoms_have_no_pairs() -> None:
    assert len(neighbour_pairs([], 5.0).first) == 0
    alone = neighbour_pairs([Structure.build([1], [[0.0, 0.0, 0.0]])] * 2, 5.0)
    assert len(alone.first) == 0
    assert alone.atom_structure.tolist() == [0, 1]
