"""The atoms of a simulated system and the bonds between them at the start. Lengths are in Å."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.motion import bonded_pairs
from assay.structure import Floats, Structure

LOST = 2.5
"""A hydrogen has left its atom if it is further than this (Å) from it; it is lost if no other atom holds it."""

STRETCHED = 1.5
"""A bond of two heavy atoms is broken if it is longer than this multiple of the sum of covalent radii: C-C at 2.3 Å. A
hydrogen that has left its atom is held by another one up to the same multiple."""

IONS = (3, 4, 11, 12, 19, 20, 37, 38, 55, 56)
"""Elements whose bonds are ignored, because a salt may dissolve."""


@dataclass(frozen=True, eq=False)
class Topology:
    """Atoms and bonds at the start of a run; a bond is a pair of atoms and the lattice vector (Å) that it crosses."""

    numbers: NDArray[np.int64]
    radii: Floats
    """Covalent radii (Å)."""

    pairs: NDArray[np.int64]
    offsets: Floats
    cell: Floats
    """Rows are lattice vectors (Å); zero for a system that is not periodic."""

    symbols: Sequence[str] = ()

    @classmethod
    def build(cls, structure: Structure, radii: Floats, symbols: Sequence[str] = ()) -> Topology:
        """Find the bonds of the first structure of a run from covalent radii (Å)."""
        pairs, vectors = bonded_pairs(structure, radii)
        bonded = (pairs[:, 0] < pairs[:, 1]) & ~np.isin(structure.numbers[pairs], IONS).any(axis=1)
        pairs, vectors = pairs[bonded], vectors[bonded]
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        pairs, vectors = pairs[order], vectors[order]
        offsets = vectors - (structure.positions[pairs[:, 1]] - structure.positions[pairs[:, 0]])
        cell = structure.cell if any(structure.pbc) else np.zeros((3, 3))
        return cls(structure.numbers, radii, pairs, np.round(offsets, 6), cell, symbols)

    @property
    def with_hydrogen(self) -> NDArray[np.bool_]:
        """True for bonds between a hydrogen and a heavier atom."""
        return np.asarray((self.numbers[self.pairs] == 1).sum(axis=1) == 1)

    @property
    def limits(self) -> Floats:
        """The length (Å) above which each bond is broken."""
        reach = STRETCHED * self.radii[self.pairs].sum(axis=1)
        return np.where((self.numbers[self.pairs] == 1).any(axis=1), LOST, reach)

    def lengths(self, positions: Floats) -> Floats:
        """The length (Å) of every bond in every frame."""
        return np.asarray(
            np.linalg.norm(positions[:, self.pairs[:, 1]] - positions[:, self.pairs[:, 0]] + self.offsets, axis=2)
        )

    def name(self, atom: int) -> str:
        """Symbol and index of an atom, for example C0."""
        return f"{self.symbols[atom] if self.symbols else 'atom '}{atom}"

    def bond_name(self, bond: int) -> str:
        """The names of the two atoms of a bond, for example O2-H8."""
        first, second = (int(atom) for atom in self.pairs[bond])
        return f"{self.name(first)}-{self.name(second)}"
