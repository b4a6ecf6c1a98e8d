"""Neighbour pairs of many structures in one call, for models that evaluate a whole batch as one graph.

Other libraries make one neighbour list per call. For two atoms, such a call takes longer than the model itself. Here
numpy treats all structures together that have the same number of atoms and need the same periodic images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats, Structure

Integers = NDArray[np.int64]

PAIRS_AT_ONCE = 4_000_000
"""Candidate pairs that are held in memory at the same time; each takes about 32 bytes."""


@dataclass(frozen=True)
class Neighbours:
    """Pairs of atoms within a cutoff, each in both directions. Atoms are numbered through all structures.

    Attributes:
        first: The number of the first atom of each pair.
        second: The number of the second atom of each pair.
        shift: The periodic image of the second atom, in lattice vectors.
        vector: From the first atom to that image of the second (Å).
        structure: The number of the structure to which each pair belongs.
        atom_structure: The number of the structure to which each atom belongs.
        offsets: The number of the first atom of each structure, and at the end the number of all atoms.
    """

    first: Integers
    second: Integers
    shift: Integers
    vector: Floats
    structure: Integers
    atom_structure: Integers
    offsets: Integers


def neighbour_pairs(structures: Sequence[Structure], cutoff: float) -> Neighbours:
    """Every pair of atoms closer than `cutoff` (Å) in each structure, in both directions, with periodic images.

    Pairs are in the order of their structures, then in the order of their first atoms.
    """
    counts = np.array([len(s) for s in structures], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    groups: dict[tuple[int, tuple[int, int, int]], list[int]] = {}
    for index, structure in enumerate(structures):
        groups.setdefault((len(structure), _reach(structure, cutoff)), []).append(index)
    parts = []
    for (atoms, reach), members in groups.items():
        images = _images(reach)
        step = max(1, PAIRS_AT_ONCE // max(atoms * atoms * len(images), 1))
        for start in range(0, len(members), step):
            chosen = members[start : start + step]
            parts.append(_pairs_of_group(structures, chosen, offsets, images, cutoff))
    return _joined(parts, counts, offsets)


def _reach(structure: Structure, cutoff: float) -> tuple[int, int, int]:
    """How many images along each lattice vector lie within the cutoff; 0 along directions that are not periodic.

    Atoms may lie outside of the cell, so the extent of the structure along each direction is added.
    """
    if not any(structure.pbc):
        return (0, 0, 0)
    inverse = np.linalg.pinv(_completed(structure))
    heights = 1.0 / np.linalg.norm(inverse, axis=0)
    fractional = structure.positions @ inverse
    spread = np.ptp(fractional, axis=0) if len(structure) else np.zeros(3)
    wide = np.ceil(cutoff / heights + spread).astype(int)
    first, second, third = (int(n) if periodic else 0 for n, periodic in zip(wide, structure.pbc, strict=True))
    return (first, second, third)


def _completed(structure: Structure) -> Floats:
    """The cell with unit vectors along directions that are not periodic, so that it can be inverted."""
    from ase.geometry import complete_cell

    cell = structure.cell * np.array(structure.pbc, dtype=float)[:, None]
    return np.asarray(complete_cell(cell), dtype=float)


def _images(reach: tuple[int, int, int]) -> Integers:
    """The periodic images, in lattice vectors, one row each."""
    ranges = [np.arange(-n, n + 1) for n in reach]
    return np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.int64)


Part = tuple[Integers, Integers, Integers, Floats, Integers]
"""The first five fields of `Neighbours` for some of the structures."""


def _pairs_of_group(
    structures: Sequence[Structure], chosen: Sequence[int], offsets: Integers, images: Integers, cutoff: float
) -> Part:
    """The pairs of structures that have the same number of atoms and the same periodic images."""
    positions = np.stack([structures[i].positions for i in chosen])
    cells = np.stack([structures[i].cell for i in chosen])
    between = positions[:, None, :, :] - positions[:, :, None, :]
    moves = images @ cells
    vectors = between[:, :, :, None, :] + moves[:, None, None, :, :]
    squares = np.einsum("...x,...x->...", vectors, vectors)
    home = np.flatnonzero(~images.any(axis=1))[0]
    atoms = positions.shape[1]
    squares[:, np.arange(atoms), np.arange(atoms), home] = np.inf  # an atom is not its own neighbour
    which, i, j, k = np.nonzero(squares < cutoff * cutoff)
    member = np.asarray(chosen, dtype=np.int64)[which]
    base = offsets[member]
    return base + i, base + j, images[k], vectors[which, i, j, k], member


def _joined(parts: Sequence[Part], counts: Integers, offsets: Integers) -> Neighbours:
    """The pairs of all groups in the order of their first atoms."""
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return Neighbours(nothing, nothing, np.zeros((0, 3), np.int64), np.zeros((0, 3)), nothing, nothing, offsets)
    first, second, shift, vector, structure = (np.concatenate([part[c] for part in parts]) for c in range(5))
    if len(parts) > 1:
        order = np.argsort(first, kind="stable")
        first, second, shift, vector, structure = (a[order] for a in (first, second, shift, vector, structure))
    return Neighbours(first, second, shift, vector, structure, np.repeat(np.arange(len(counts)), counts), offsets)
