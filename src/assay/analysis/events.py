"""Decides whether a simulated system stayed stable and, if not, what happened and in which frame.

The frames are read in chunks. The score is that of MLIPAudit's stability benchmark: 1 for a run without problems,
between 0.5 and 1 if a hydrogen is lost, between 0 and 0.5 for an explosion. That benchmark has no other events; here
broken bonds, fragments, atoms on top of each other, NaN or infinite numbers, overheating and a lack of thermal motion
count, too. Lengths are in Å, temperatures in K.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.analysis.heat import Event, explosions, overheating, too_cold
from assay.analysis.motion import NO_PROBLEM, Problem, molecules_of
from assay.analysis.topology import LOST, Topology
from assay.errors import Cause
from assay.structure import Floats

STABLE, HYDROGEN_LOSS, FROZEN, STOPPED = "stable", "hydrogen loss", "frozen", "stopped"
NOT_FINITE, BROKEN, FRAGMENTS, COLLAPSE = "not finite", "broken bond", "fragmentation", "collapse"

INSIDE = 0.5
"""Atoms closer than this fraction of the sum of their covalent radii have collapsed; N≡N has 0.77."""

STILL = 0.002
"""Bonds that fluctuate by less than this (Å, root mean square, at 300 K) do not move; thermal motion gives 0.015 to
0.03 Å."""


class RunJudgement(NamedTuple):
    """The result for a run: the kind of event, its first frame (None for a stable run), the reason, the score."""

    kind: str
    frame: int | None
    reason: str
    score: float


def judge_run(
    frames: Iterable[tuple[Floats, Floats]],
    topology: Topology,
    target: float,
    expected: int,
    freedom: int,
    ended: Problem = NO_PROBLEM,
) -> RunJudgement:
    """Decide what happened in a run.

    Args:
        frames: successive chunks of the run: positions (frames, atoms, 3) and the temperature of each frame.
        topology: the atoms and their bonds at the start.
        target: the temperature (K) that the run should have.
        expected: number of frames of a complete run.
        freedom: number of degrees of freedom of the kinetic energy.
        ended: why the run stopped before its end, if it did.
    """
    scan = _Scan(topology)
    for positions, kelvin in frames:
        scan.add(np.asarray(positions, dtype=float), np.asarray(kelvin, dtype=float))
        if scan.over:
            break
    kelvin = np.concatenate(scan.kelvin) if scan.kelvin else np.zeros(0)
    exploded = explosions(kelvin, target)
    events = [*exploded, *scan.events, *overheating(kelvin, target, freedom, expected, exploded)]
    if events:  # of two events in the same frame, the first in the list counts: the explosion of the published rule
        event = min(events, key=lambda event: event.frame)
        return RunJudgement(event.kind, event.frame, event.reason, 0.5 * min(event.frame / expected, 1.0))
    loss = scan.first_loss()
    if ended.reason and not (loss and ended.cause == Cause.ATOM_LOST):
        kind = NOT_FINITE if ended.cause == Cause.NOT_FINITE else STOPPED
        return RunJudgement(kind, scan.frames, ended.reason, 0.5 * min(scan.frames / expected, 1.0))
    if loss:
        return RunJudgement(HYDROGEN_LOSS, loss.frame, loss.reason, 0.5 + 0.5 * min(loss.frame / expected, 1.0))
    if reason := scan.no_motion(target) or too_cold(kelvin, target):
        return RunJudgement(FROZEN, 0, reason, 0.0)
    return RunJudgement(STABLE, None, "", 1.0)


@dataclass
class _Scan:
    """Events and sums of the frames read so far."""

    topology: Topology
    frames: int = 0
    over: bool = False
    """True after the first NaN or infinite number: later frames have no meaning."""

    events: list[Event] = field(default_factory=list)
    kelvin: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        topology = self.topology
        self.hydrogen_bonds = np.flatnonzero(topology.with_hydrogen)
        self.other_bonds = np.flatnonzero(~topology.with_hydrogen)
        self.heavy = np.flatnonzero(topology.numbers > 1)
        self.lost_since = np.full(len(self.hydrogen_bonds), -1)
        self.sums = np.zeros((2, max(len(topology.pairs), 1)))
        self.first: Floats | None = None

    def add(self, positions: Floats, kelvin: Floats) -> None:
        """Add a chunk of frames; after a chunk with an event, only the temperatures of later chunks are kept."""
        has_event = bool(self.events)
        finite = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(kelvin)
        if not finite.all():
            frame, self.over = int(np.argmin(finite)), True
            self.events.append(Event(self.frames + frame, NOT_FINITE, "positions or velocities are NaN or infinite"))
            positions, kelvin = positions[:frame], kelvin[:frame]
        self.kelvin.append(kelvin)
        if len(positions) and not has_event:
            lengths = self.topology.lengths(positions)
            self._find_broken_bonds(lengths)
            self._find_collapse(positions)
            self._follow_hydrogens(positions, lengths)
            self._add_fluctuations(positions, lengths)
        self.frames += len(positions)

    def _find_broken_bonds(self, lengths: Floats) -> None:
        topology = self.topology
        broken = lengths[:, self.other_bonds] > topology.limits[self.other_bonds]
        if not broken.any():
            return
        frame = int(np.argmax(broken.any(axis=1)))
        bond = int(self.other_bonds[int(np.argmax(broken[frame]))])
        whole = np.ones(len(topology.pairs), dtype=bool)
        whole[self.other_bonds[broken[frame]]] = False
        molecule = molecules_of(topology.pairs[whole], len(topology.numbers))
        first, second = topology.pairs[bond]
        kind = FRAGMENTS if molecule[first] != molecule[second] else BROKEN
        reason = f"the bond {topology.bond_name(bond)} is {lengths[frame, bond]:.1f} Å long"
        self.events.append(Event(self.frames + frame, kind, reason))

    def _find_collapse(self, positions: Floats) -> None:
        for frame, snapshot in enumerate(positions):
            if reason := _collapsed_pair(snapshot, self.topology):
                self.events.append(Event(self.frames + frame, COLLAPSE, reason))
                return

    def _follow_hydrogens(self, positions: Floats, lengths: Floats) -> None:
        """Update the frame since which each hydrogen is far from all heavy atoms; -1 if it is not."""
        away = lengths[:, self.hydrogen_bonds] > LOST
        pairs = self.topology.pairs[self.hydrogen_bonds]
        hydrogens = np.where(self.topology.numbers[pairs[:, 0]] == 1, pairs[:, 0], pairs[:, 1])
        for bond in map(int, np.flatnonzero(away.any(axis=0))):
            frames = np.flatnonzero(away[:, bond])
            vectors = positions[frames][:, self.heavy] - positions[frames, hydrogens[bond]][:, None]
            nearest = np.linalg.norm(_nearest_images(vectors, self.topology.cell), axis=2).min(axis=1)
            away[frames, bond] = nearest > LOST
        for bond in range(len(self.hydrogen_bonds)):
            near = np.flatnonzero(~away[:, bond])
            if len(near):
                self.lost_since[bond] = -1
            start = int(near[-1]) + 1 if len(near) else 0
            if start < len(away) and self.lost_since[bond] < 0:
                self.lost_since[bond] = self.frames + start

    def _add_fluctuations(self, positions: Floats, lengths: Floats) -> None:
        """Add to the sums for fluctuations of bond lengths; without bonds, of the largest distance from atom 0."""
        values = (
            lengths
            if len(self.topology.pairs)
            else np.linalg.norm(positions - positions[:, :1], axis=2).max(1)[:, None]
        )
        self.first = values[0] if self.first is None else self.first
        change = values - self.first
        self.sums += np.array([change.sum(axis=0), (change**2).sum(axis=0)])

    def first_loss(self) -> Event | None:
        """The first loss of a hydrogen that has not come back by the last frame."""
        lost = np.flatnonzero(self.lost_since >= 0)
        if not len(lost):
            return None
        which = lost[int(np.argmin(self.lost_since[lost]))]
        bond = self.topology.bond_name(int(self.hydrogen_bonds[which]))
        reason = f"{bond}: the hydrogen is more than {LOST} Å from heavy atoms"
        return Event(int(self.lost_since[which]), HYDROGEN_LOSS, reason)

    def no_motion(self, target: float) -> str:
        """Why the bond lengths show no thermal motion; empty if they do."""
        if self.frames < 5 or len(self.topology.numbers) < 2:
            return ""
        mean, square = self.sums / self.frames
        spread = float(np.median(np.sqrt(np.maximum(square - mean**2, 0.0))))
        moving = spread >= STILL * np.sqrt(target / 300.0)
        return "" if moving else f"bond lengths fluctuate by {spread:.1g} Å, less than by thermal motion"


def _nearest_images(vectors: Floats, cell: Floats) -> Floats:
    """Vectors between atoms by the nearest periodic image, for a cell that is not strongly skewed."""
    if not cell.any():
        return vectors
    fractional = vectors @ np.linalg.inv(cell)
    return np.asarray((fractional - np.round(fractional)) @ cell)


def _collapsed_pair(positions: Floats, topology: Topology) -> str:
    """The two atoms that are far too close to each other, as a sentence; empty if there are none."""
    from scipy.spatial import cKDTree

    reach = 2.0 * INSIDE * float(topology.radii.max(initial=0.0))
    if topology.cell.any():
        fractional = positions @ np.linalg.inv(topology.cell)
        positions = (fractional - np.floor(fractional)) @ topology.cell
    pairs = cKDTree(positions).query_pairs(reach, output_type="ndarray")
    if not len(pairs):
        return ""
    distances = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    fraction = distances / topology.radii[pairs].sum(axis=1)
    worst = int(np.argmin(fraction))
    if fraction[worst] >= INSIDE:
        return ""
    first, second = (int(atom) for atom in pairs[worst])
    return f"{topology.name(first)} and {topology.name(second)} are {distances[worst]:.2f} Å apart"
