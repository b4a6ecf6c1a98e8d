"""Standard structures are of the claimed elements and periodic patterns, of many sizes, and always the same."""

from __future__ import annotations

import numpy as np
import pytest

from argon import argon
from assay.errors import AssayError
from assay.model import PERIODIC_PATTERNS
from assay.structure import Structure
from assay.testing import skewed_cell, standard_structures, structures_for


def distances(structure: Structure) -> np.ndarray:
    """Distances (Å) of all pairs of atoms."""
    gaps = np.linalg.norm(structure.positions[:, None] - structure.positions[None], axis=2)
    return gaps[np.triu_indices(len(structure), 1)]


@pytest.mark.parametrize("elements", [(1, 6, 7, 8), (18,), (29, 79), (8, 1), tuple(range(1, 95))])
def test_only_claimed_elements_and_patterns_occur(elements: tuple[int, ...]) -> None:
    for pbc in (("FFF",), ("TTT",), ("FFF", "TTF"), ("FFF", *PERIODIC_PATTERNS)):
        structures = standard_structures(elements, pbc)
        assert {int(z) for s in structures.values() for z in s.numbers} <= set(elements)
        assert {s.pattern for s in structures.values()} == set(pbc)
        assert len({len(s) for s in structures.values()}) > 2
        assert all(distances(s).min() > 0.3 for s in structures.values() if len(s) > 1)


def test_every_kind_of_structure_is_there() -> None:
    structures = standard_structures(charge=True)
    for name in (
        "O atom",
        "C-O at 0.50 Å",
        "two atoms far apart",
        "small cluster",
        "water",
        "distorted ethanol",
        "slab",
    ):
        assert name in structures
    assert {f"cell {pattern}" for pattern in PERIODIC_PATTERNS} <= set(structures)
    assert {name: s.charge for name, s in structures.items() if s.charge} == {"hydroxide": -1, "ammonia cation": 1}
    assert distances(structures["two atoms far apart"]) == pytest.approx([30.0])


def test_pairs_begin_at_the_shortest_distance() -> None:
    pairs = [s for name, s in standard_structures(shortest=0.18).items() if " at " in name]
    assert distances(pairs[0]) == pytest.approx([0.18])
    assert distances(pairs[-1]) == pytest.approx([6.0])


def test_they_are_the_same_every_time() -> None:
    for one, two in zip(standard_structures().values(), standard_structures().values(), strict=True):
        np.testing.assert_array_equal(one.positions, two.positions)


@pytest.mark.parametrize("elements", [(1, 6, 7, 8), (18,), (29, 79), (1,)])
def test_a_skewed_cell_is_smaller_than_most_cutoffs_and_not_crowded(elements: tuple[int, ...]) -> None:
    cell = skewed_cell(elements, "TFT")
    assert cell.pattern == "TFT"
    assert len(cell) == 4
    lengths = np.linalg.norm(cell.cell, axis=1)
    assert 3.4 < lengths.min() < lengths.max() < 7.0
    assert np.abs(cell.cell[~np.eye(3, dtype=bool)]).min() > 0.0
    assert distances(cell).min() > 1.5


def test_structures_follow_the_claims_of_a_model() -> None:
    assert {s.pattern for s in structures_for(argon(pbc=["TTT"])).values()} == {"TTT"}
    assert {s.pattern for s in structures_for(argon(pbc=None)).values()} == {"FFF"}
    with pytest.raises(AssayError, match="claims no elements"):
        structures_for(argon(elements=None))
    with pytest.raises(AssayError, match="no elements to make structures of"):
        standard_structures(())
