"""Hydrogens that leave their atoms in a run, and what becomes of them. Lengths are in Å.

In a liquid every place is near some atom: the largest holes of water are 2 Å wide. So a hydrogen that has left its atom
is free if it is bonded to no other atom, and not only if it is far from all of them. A free hydrogen that flies through
a liquid comes close to one atom after the other; only an atom that keeps it for some frames holds it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.heat import Event
from assay.analysis.topology import IONS, LOST, STRETCHED, Topology
from assay.structure import Floats

HYDROGEN_LOSS, FRAGMENTS = "hydrogen loss", "fragmentation"

HELD = 10
"""A hydrogen that was free is held again after this number of successive frames within reach of the same atom."""

SUSTAINED = 3
"""A hydrogen is lost only if it is free in at least this number of frames."""

MOSTLY_FREE = 0.25
"""A lost hydrogen is free in at least this part of the frames since it was free first."""

FREE = -1
"""The number of the atom that holds a free hydrogen."""


@dataclass
class Hydrogens:
    """The hydrogens of a run that are bonded to a heavy atom at the start, followed from frame to frame."""

    topology: Topology
    detached: int | None = None
    """The first frame in which a hydrogen is further than 2.5 Å from its atom, wherever else it is."""

    frames: int = 0
    """Number of frames in which the hydrogens were followed."""

    def __post_init__(self) -> None:
        topology = self.topology
        self.bonds = np.flatnonzero(topology.with_hydrogen)
        pairs = topology.pairs[self.bonds]
        first = topology.numbers[pairs[:, 0]] == 1
        self.atoms = np.where(first, pairs[:, 0], pairs[:, 1])
        self.heavy = np.flatnonzero((topology.numbers > 1) & ~np.isin(topology.numbers, IONS))
        self.free_since, self.free_frames, self.holder, self.held_for = (
            np.full(len(self.bonds), start) for start in (-1, 0, FREE, 0)
        )

    def find_detached(self, lengths: Floats, start: int) -> None:
        """Look for the first hydrogen that is far from its atom, in a chunk that begins with the frame `start`."""
        far = (lengths[:, self.bonds] > LOST).any(axis=1)
        if self.detached is None and far.any():
            self.detached = start + int(np.argmax(far))

    def follow(self, positions: Floats, lengths: Floats, start: int) -> None:
        """Update what is known of each hydrogen with a chunk of frames that begins with the frame `start`."""
        self.frames += len(positions)
        away = lengths[:, self.bonds] > LOST
        for number in map(int, np.flatnonzero(away.any(axis=0) | (self.free_since >= 0))):
            reach = self._reach(positions, number)
            for frame, near in enumerate(reach):
                self._step(number, start + frame, near, bool(away[frame, number]))

    def _reach(self, positions: Floats, number: int) -> Iterator[NDArray[np.int64]]:
        """For each frame the atoms that a hydrogen may be bonded to, the nearest first."""
        atom = self.atoms[number]
        limits = STRETCHED * (self.topology.radii[self.heavy] + self.topology.radii[atom])
        for snapshot in positions:
            vectors = nearest_images(snapshot[self.heavy] - snapshot[atom], self.topology.cell)
            ratio = np.linalg.norm(vectors, axis=1) / limits
            yield self.heavy[np.argsort(ratio)[: int((ratio <= 1.0).sum())]]

    def _step(self, number: int, frame: int, near: NDArray[np.int64], away: bool) -> None:
        """One frame of one hydrogen: it is free, still held by the same atom, or now held by another one.

        Within 2.5 Å of its own atom it is not free, and held only if it is bonded.
        """
        if not len(near) and not away:
            self.held_for[number] = 0
        elif not len(near):
            if self.free_since[number] < 0:
                self.free_since[number], self.free_frames[number] = frame, 0
            self.free_frames[number] += 1
            self.holder[number], self.held_for[number] = FREE, 0
        elif self.holder[number] in near:
            self.held_for[number] += 1
        else:
            self.holder[number], self.held_for[number] = near[0], 1
        if self.held_for[number] >= HELD:
            self.free_since[number] = -1

    def losses(self, atom_left: bool) -> list[Event]:
        """The hydrogens that are lost after the last frame, the first loss first.

        `atom_left` is true for a run that was stopped because an atom had left the molecule: then few frames suffice.
        """
        least = np.maximum(MOSTLY_FREE * (self.frames - self.free_since), 1 if atom_left else SUSTAINED)
        lost = np.flatnonzero((self.free_since >= 0) & (self.free_frames >= least))
        order = lost[np.argsort(self.free_since[lost], kind="stable")]
        return [Event(int(self.free_since[n]), HYDROGEN_LOSS, self._reason(n)) for n in order]

    def _reason(self, number: int) -> str:
        bond = self.topology.bond_name(int(self.bonds[number]))
        return f"{bond}: the hydrogen is more than {LOST} Å from its atom and bonded to no other"


def dissolved(losses: Sequence[Event], hydrogens: int) -> list[Event]:
    """A fragmentation, if at least two hydrogens and at least half of all are lost; its frame is that of half."""
    if len(losses) < 2 or 2 * len(losses) < hydrogens:
        return []
    half = losses[max((hydrogens + 1) // 2, 2) - 1]
    return [Event(half.frame, FRAGMENTS, f"{len(losses)} of {hydrogens} hydrogens have left their atoms")]


def nearest_images(vectors: Floats, cell: Floats) -> Floats:
    """Vectors between atoms by the nearest periodic image, for a cell that is not strongly skewed."""
    if not cell.any():
        return vectors
    fractional = vectors @ np.linalg.inv(cell)
    return np.asarray((fractional - np.round(fractional)) @ cell)
