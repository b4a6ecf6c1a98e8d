"""Decides whether a simulated system stayed stable and, if not, what happened and in which frame.

The frames are read in chunks. The score has the form of MLIPAudit's stability benchmark: 1 for a run without problems,
between 0.5 and 1 if a hydrogen is lost, between 0 and 0.5 for an explosion. That benchmark has no other events; here
broken bonds, fragments, atoms on top of each other, NaN or infinite numbers, a wrong temperature and a lack of thermal
motion count, too. Its own score is computed beside it (`published.py`). Lengths are in Å, temperatures in K.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from assay.analysis.heat import Event, explosions, overheating, too_cold, too_short
from assay.analysis.hydrogens import FRAGMENTS, HYDROGEN_LOSS, Hydrogens, dissolved
from assay.analysis.motion import NO_PROBLEM, Problem, molecules_of, near_pairs
from assay.analysis.published import published_score
from assay.analysis.topology import Topology
from assay.errors import Cause
from assay.structure import Floats

STABLE, FROZEN, STOPPED, TOO_COLD, TOO_SHORT = "stable", "frozen", "stopped", "too cold", "too short"
NOT_FINITE, BROKEN, COLLAPSE = "not finite", "broken bond", "collapse"

INSIDE = 0.5
"""Atoms closer than this fraction of the sum of their covalent radii have collapsed; N≡N has 0.77."""

STILL = 0.002
"""Bonds that fluctuate by less than this (Å, root mean square, at 300 K) do not move; thermal motion gives 0.015 to
0.03 Å."""


class RunJudgement(NamedTuple):
    """The result for a run: the kind of event, its first frame (None for a stable run), the reason, the score.

    The score is None for a run that is too short to tell; `literal_score` is the score by the published rule.
    """

    kind: str
    frame: int | None
    reason: str
    score: float | None
    literal_score: float = 1.0


def judge_run(
    frames: Iterable[tuple[Floats, Floats]],
    topology: Topology,
    target: float,
    expected: int,
    freedom: int,
    ended: Problem = NO_PROBLEM,
    renewal: float = 1.0,
) -> RunJudgement:
    """Decide what happened in a run.

    Args:
        frames: successive chunks of the run: positions (frames, atoms, 3) and the temperature of each frame.
        topology: the atoms and their bonds at the start.
        target: the temperature (K) that the run should have.
        expected: number of frames of a complete run.
        freedom: number of degrees of freedom of the kinetic energy.
        ended: why the run stopped before its end, if it did.
        renewal: friction of the thermostat times the time between frames; 1 or more if frames are independent.
    """
    scan = _Scan(topology)
    for positions, kelvin in frames:
        scan.add(np.asarray(positions, dtype=float), np.asarray(kelvin, dtype=float))
        if scan.over:
            break
    kelvin = np.concatenate(scan.kelvin) if scan.kelvin else np.zeros(0)
    exploded = explosions(kelvin, target)
    events = [*exploded, *scan.events, *overheating(kelvin, target, freedom, expected, renewal, exploded)]
    result = _first_event(scan, events, ended, expected)
    if result is None and (reason := scan.no_motion(target)):
        result = RunJudgement(FROZEN, 0, reason, 0.0)
    if result is None and (reason := too_cold(kelvin, target, freedom, renewal)):
        result = RunJudgement(TOO_COLD, 0, reason, 0.0)
    if result is None and too_short(scan.frames, freedom, renewal):
        result = RunJudgement(TOO_SHORT, None, "twice the target temperature would not show in so few frames", None)
    literal_score = published_score(kelvin, target, expected, scan.hydrogens.detached, ended)
    return (result or RunJudgement(STABLE, None, "", 1.0))._replace(literal_score=literal_score)


def _first_event(scan: _Scan, events: list[Event], ended: Problem, expected: int) -> RunJudgement | None:
    """The event that decides about a run: the first, a stop, or the loss of a hydrogen; None if there is none."""
    losses = scan.hydrogens.losses(ended.cause == Cause.ATOM_LOST)
    events = events + dissolved(losses, len(scan.hydrogens.bonds))
    if events:  # of two events in the same frame, the first in the list counts: the explosion of the published rule
        event = min(events, key=lambda event: event.frame)
        return RunJudgement(event.kind, event.frame, event.reason, 0.5 * min(event.frame / expected, 1.0))
    if ended.reason and not (losses and ended.cause == Cause.ATOM_LOST):
        kind = NOT_FINITE if ended.cause == Cause.NOT_FINITE else STOPPED
        return RunJudgement(kind, scan.frames, ended.reason, 0.5 * min(scan.frames / expected, 1.0))
    if losses:
        loss = losses[0]
        return RunJudgement(HYDROGEN_LOSS, loss.frame, loss.reason, 0.5 + 0.5 * min(loss.frame / expected, 1.0))
    return None


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
        self.hydrogens = Hydrogens(topology)
        self.other_bonds = np.flatnonzero(~topology.with_hydrogen)
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
        lengths = self.topology.lengths(positions)
        self.hydrogens.find_detached(lengths, self.frames)
        if len(positions) and not has_event:
            self._find_broken_bonds(lengths)
            self._find_collapse(positions)
            before = min((event.frame for event in self.events), default=self.frames + len(positions)) - self.frames
            self.hydrogens.follow(positions[:before], lengths[:before], self.frames)
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

    def no_motion(self, target: float) -> str:
        """Why the bond lengths show no thermal motion; empty if they do."""
        if self.frames < 5 or len(self.topology.numbers) < 2:
            return ""
        mean, square = self.sums / self.frames
        spread = float(np.median(np.sqrt(np.maximum(square - mean**2, 0.0))))
        moving = spread >= STILL * np.sqrt(target / 300.0)
        return "" if moving else f"bond lengths fluctuate by {spread:.1g} Å, less than by thermal motion"


def _collapsed_pair(positions: Floats, topology: Topology) -> str:
    """The two atoms that are far too close to each other, as a sentence; empty if there are none."""
    reach = 2.0 * INSIDE * float(topology.radii.max(initial=0.0))
    if topology.cell.any():
        fractional = positions @ np.linalg.inv(topology.cell)
        positions = (fractional - np.floor(fractional)) @ topology.cell
    pairs = near_pairs(positions, reach)
    if not len(pairs):
        return ""
    distances = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    fraction = distances / topology.radii[pairs].sum(axis=1)
    worst = int(np.argmin(fraction))
    if fraction[worst] >= INSIDE:
        return ""
    first, second = (int(atom) for atom in pairs[worst])
    return f"{topology.name(first)} and {topology.name(second)} are {distances[worst]:.2f} Å apart"
