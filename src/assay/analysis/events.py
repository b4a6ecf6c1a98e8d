"""Whether a simulated system has lasted, and if not, what happened to it, and when.

A verdict is read from successive frames, a chunk in memory at a time. Its score is that of MLIPAudit's stability
benchmark: 1 for a run without trouble, between 0.5 and 1 when a hydrogen is lost, between 0 and 0.5 for an explosion.
That benchmark looks for nothing else; here broken bonds, fragments, atoms inside each other, numbers that are none,
heat that stays, and motion that never starts count, too. Lengths are Å, temperatures K.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.heat import Event, cold, explosions, overheating
from assay.analysis.motion import NO_PROBLEM, Problem, bonded_pairs, molecules_of
from assay.errors import Cause
from assay.structure import Floats, Structure

STABLE, HYDROGEN_LOSS, FROZEN, STOPPED = "stable", "hydrogen loss", "frozen", "stopped"
NOT_FINITE, BROKEN, FRAGMENTS, COLLAPSE = "not finite", "broken bond", "fragmentation", "collapse"

LOST = 2.5
"""A hydrogen further than this from its atom, and from all other heavy atoms until the end, is lost."""

STRETCHED = 1.5
"""A bond of two other atoms longer than this many sums of their covalent radii is broken: C-C at 2.3 Å."""

INSIDE = 0.5
"""Atoms nearer than this part of the sum of their covalent radii have fallen into each other; N≡N has 0.77."""

STILL = 0.002
"""Bonds that change by less than this (Å, root mean square, at 300 K) do not move; heat moves them by 0.015 to 0.03."""

IONS = (3, 4, 11, 12, 19, 20, 37, 38, 55, 56)
"""Elements that make no bonds that could break: a salt may dissolve."""


class RunJudgement(NamedTuple):
    """How a simulation went: the kind of event, its first frame (None if nothing happened), the reason, the score."""

    kind: str
    frame: int | None
    reason: str
    score: float


@dataclass(frozen=True, eq=False)
class Body:
    """What the atoms of a run are at its start: bonds as pairs, with the lattice vector (Å) that each bond crosses."""

    numbers: NDArray[np.int64]
    radii: Floats
    pairs: NDArray[np.int64]
    offsets: Floats
    cell: Floats
    """Zero for a free body."""

    symbols: Sequence[str] = ()

    @classmethod
    def build(cls, structure: Structure, radii: Floats, symbols: Sequence[str] = ()) -> Body:
        """From the first structure of a run and covalent radii (Å)."""
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
        """Which bonds join a hydrogen to a heavier atom."""
        return np.asarray((self.numbers[self.pairs] == 1).sum(axis=1) == 1)

    @property
    def limits(self) -> Floats:
        """How long (Å) each bond may get."""
        reach = STRETCHED * self.radii[self.pairs].sum(axis=1)
        return np.where((self.numbers[self.pairs] == 1).any(axis=1), LOST, reach)

    def lengths(self, positions: Floats) -> Floats:
        """The length (Å) of every bond in every frame."""
        return np.asarray(
            np.linalg.norm(positions[:, self.pairs[:, 1]] - positions[:, self.pairs[:, 0]] + self.offsets, axis=2)
        )

    def name(self, atom: int) -> str:
        """The atom with its place in the list."""
        return f"{self.symbols[atom] if self.symbols else 'atom '}{atom}"


def judge_run(
    frames: Iterable[tuple[Floats, Floats]],
    body: Body,
    target: float,
    expected: int,
    freedom: int,
    ended: Problem = NO_PROBLEM,
) -> RunJudgement:
    """The verdict on a run.

    Args:
        frames: successive pieces of the run: positions (frames, atoms, 3) and the temperature of each frame.
        body: the atoms and their bonds at the start.
        target: the temperature (K) that it should have.
        expected: frames of a run that goes to its end.
        freedom: degrees of freedom that share the kinetic energy.
        ended: why the run stopped by itself, if it did.
    """
    course = _Course(body)
    for positions, kelvin in frames:
        course.look(np.asarray(positions, dtype=float), np.asarray(kelvin, dtype=float))
        if course.over:
            break
    heat = np.concatenate(course.heat) if course.heat else np.zeros(0)
    exploded = explosions(heat, target)
    found = [*exploded, *course.events, *overheating(heat, target, freedom, expected, exploded)]
    if found:  # of what happens in the same frame, the published rule is named
        frame, kind, reason = min(found, key=lambda event: event[0])
        return RunJudgement(kind, frame, reason, 0.5 * min(frame / expected, 1.0))
    lost = course.first_loss()
    if ended.reason and not (lost and ended.cause == Cause.ATOM_LOST):
        kind = NOT_FINITE if ended.cause == Cause.NOT_FINITE else STOPPED
        return RunJudgement(kind, course.seen, ended.reason, 0.5 * min(course.seen / expected, 1.0))
    if lost:
        return RunJudgement(HYDROGEN_LOSS, lost[0], lost[2], 0.5 + 0.5 * min(lost[0] / expected, 1.0))
    if reason := course.stillness(target) or cold(heat, target):
        return RunJudgement(FROZEN, 0, reason, 0.0)
    return RunJudgement(STABLE, None, "", 1.0)


@dataclass
class _Course:
    """What has been seen of a run so far."""

    body: Body
    seen: int = 0
    over: bool = False
    """Whether numbers have come that are none: nothing can be said of what follows."""

    events: list[Event] = field(default_factory=list)
    heat: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        body = self.body
        self.hydrogen_bonds = np.flatnonzero(body.with_hydrogen)
        self.others = np.flatnonzero(~body.with_hydrogen)
        self.heavy = np.flatnonzero(body.numbers > 1)
        self.away = np.full(len(self.hydrogen_bonds), -1)
        self.sums = np.zeros((2, max(len(body.pairs), 1)))
        self.first: Floats | None = None

    def look(self, positions: Floats, kelvin: Floats) -> None:
        """Take a piece of the run; after the one in which something goes wrong, only its temperatures."""
        gone_wrong = bool(self.events)
        finite = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(kelvin)
        if not finite.all():
            frame, self.over = int(np.argmin(finite)), True
            self.events.append((self.seen + frame, NOT_FINITE, "positions or velocities are no numbers"))
            positions, kelvin = positions[:frame], kelvin[:frame]
        self.heat.append(kelvin)
        if len(positions) and not gone_wrong:
            lengths = self.body.lengths(positions)
            self._bonds(lengths)
            self._collapse(positions)
            self._hydrogens(positions, lengths)
            self._movement(positions, lengths)
        self.seen += len(positions)

    def _bonds(self, lengths: Floats) -> None:
        body = self.body
        broken = lengths[:, self.others] > body.limits[self.others]
        if not broken.any():
            return
        frame = int(np.argmax(broken.any(axis=1)))
        which = self.others[int(np.argmax(broken[frame]))]
        whole = np.ones(len(body.pairs), dtype=bool)
        whole[self.others[broken[frame]]] = False
        part = molecules_of(body.pairs[whole], len(body.numbers))
        first, second = (int(atom) for atom in body.pairs[which])
        kind = FRAGMENTS if part[first] != part[second] else BROKEN
        words = f"the bond {body.name(first)}-{body.name(second)} is {lengths[frame, which]:.1f} Å long"
        self.events.append((self.seen + frame, kind, words))

    def _collapse(self, positions: Floats) -> None:
        for frame, place in enumerate(positions):
            if found := _inside(place, self.body):
                self.events.append((self.seen + frame, COLLAPSE, found))
                return

    def _hydrogens(self, positions: Floats, lengths: Floats) -> None:
        """Since which frame each hydrogen is away from all heavy atoms; -1 for those that are not."""
        away = lengths[:, self.hydrogen_bonds] > LOST
        pairs = self.body.pairs[self.hydrogen_bonds]
        hydrogens = np.where(self.body.numbers[pairs[:, 0]] == 1, pairs[:, 0], pairs[:, 1])
        for which in map(int, np.flatnonzero(away.any(axis=0))):
            frames = np.flatnonzero(away[:, which])
            gaps = positions[frames][:, self.heavy] - positions[frames, hydrogens[which]][:, None]
            near = np.linalg.norm(_nearest_images(gaps, self.body.cell), axis=2).min(axis=1)
            away[frames, which] = near > LOST
        for which in range(len(self.hydrogen_bonds)):
            here = np.flatnonzero(~away[:, which])
            if len(here):
                self.away[which] = -1
            start = int(here[-1]) + 1 if len(here) else 0
            if start < len(away) and self.away[which] < 0:
                self.away[which] = self.seen + start

    def _movement(self, positions: Floats, lengths: Floats) -> None:
        """Sums for the fluctuation of bonds; of the first atom's distances where there are no bonds."""
        values = (
            lengths if len(self.body.pairs) else np.linalg.norm(positions - positions[:, :1], axis=2).max(1)[:, None]
        )
        self.first = values[0] if self.first is None else self.first
        moved = values - self.first
        self.sums += np.array([moved.sum(axis=0), (moved**2).sum(axis=0)])

    def first_loss(self) -> Event | None:
        """The hydrogen that has been away for longest, until the end."""
        gone = np.flatnonzero(self.away >= 0)
        if not len(gone):
            return None
        which = gone[int(np.argmin(self.away[gone]))]
        first, second = (int(atom) for atom in self.body.pairs[self.hydrogen_bonds[which]])
        words = f"{self.body.name(first)}-{self.body.name(second)}: the hydrogen is more than {LOST} Å from heavy atoms"
        return int(self.away[which]), HYDROGEN_LOSS, words

    def stillness(self, target: float) -> str:
        """Why the run shows no thermal motion, by its bonds; empty if it does."""
        if self.seen < 5 or len(self.body.numbers) < 2:
            return ""
        mean, square = self.sums / self.seen
        spread = float(np.median(np.sqrt(np.maximum(square - mean**2, 0.0))))
        moving = spread >= STILL * np.sqrt(target / 300.0)
        return "" if moving else f"bonds change by {spread:.1g} Å, less than heat would change them"


def _nearest_images(vectors: Floats, cell: Floats) -> Floats:
    """Vectors between atoms and the nearest images of others, in a cell that is not too skewed."""
    if not cell.any():
        return vectors
    turns = vectors @ np.linalg.inv(cell)
    return np.asarray((turns - np.round(turns)) @ cell)


def _inside(place: Floats, body: Body) -> str:
    """Two atoms inside each other, in words; empty if there are none."""
    from scipy.spatial import cKDTree

    reach = 2.0 * INSIDE * float(body.radii.max(initial=0.0))
    if body.cell.any():
        parts = place @ np.linalg.inv(body.cell)
        place = (parts - np.floor(parts)) @ body.cell
    pairs = cKDTree(place).query_pairs(reach, output_type="ndarray")
    if not len(pairs):
        return ""
    gaps = np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1)
    part = gaps / body.radii[pairs].sum(axis=1)
    worst = int(np.argmin(part))
    if part[worst] >= INSIDE:
        return ""
    first, second = (int(atom) for atom in pairs[worst])
    return f"{body.name(first)} and {body.name(second)} are {gaps[worst]:.2f} Å apart"
