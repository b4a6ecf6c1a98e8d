"""How long an evaluation takes, by the number of atoms: measured on structures of the plan itself, not guessed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.jobs import Job, Probe, structures_of
from assay.outcome import ERROR, OK, Outcome
from assay.structure import Structure

if TYPE_CHECKING:
    from assay.compute.runner import Runner

SMALL = 12
"""Atoms in the largest structures of the survey: up to here an evaluation is taken to cost the same."""

APART = 2.5
"""Sizes that are measured are at least this factor apart, the largest at least the root of it."""

LONGEST = 5.0
"""Seconds that measuring one size may be expected to take; larger systems are extrapolated."""

BUDGET = 8.0
"""When measuring has taken so many seconds, no further size is tried."""

CAUTION = 1.5
"""The power of the number of atoms by which a size that was never tried is expected to cost more, at least."""

STEEPEST = 3.0
PROBE = "timing"


@dataclass(frozen=True)
class Curve:
    """Seconds of one evaluation at each measured number of atoms, smallest first."""

    points: tuple[tuple[int, float], ...]

    @property
    def largest(self) -> int:
        """The most atoms that were measured."""
        return self.points[-1][0]

    def at(self, atoms: int, least: float = 1.0) -> float:
        """Seconds for so many atoms, by powers of their number; beyond the largest size by the power `least` or more.

        Below the smallest size it is the time of that: what an evaluation costs in any case hides what atoms cost.
        """
        place = bisect_left(self.points, (atoms, -math.inf))
        if place == 0:
            return self.points[0][1]
        size, seconds = self.points[place - 1]
        if place < len(self.points):
            power = _power(self.points[place - 1], self.points[place])
        else:
            power = _power(*self.points[-2:]) if len(self.points) > 1 else least
            power = min(max(power, least), STEEPEST)
        return float(seconds * (atoms / size) ** power)


def _power(below: tuple[int, float], above: tuple[int, float]) -> float:
    return math.log(above[1] / below[1]) / math.log(above[0] / below[0])


@dataclass(frozen=True)
class Pace:
    """Curves for free and for periodic structures (the keys are `periodic`), alone and, if the model can, together."""

    alone: Mapping[bool, Curve]
    together: Mapping[bool, Curve] | None = None

    def seconds(self, structures: Sequence[Structure], together: bool = False) -> float:
        """The mean time of an evaluation of these structures."""
        curves = self.together if together and self.together is not None else self.alone
        times = [_of(curves, s).at(len(s)) for s in structures]
        return sum(times) / len(times) if times else min(curve.at(1) for curve in curves.values())

    def measured(self, structures: Iterable[Structure]) -> bool:
        """False when one of these structures is larger than what was measured."""
        return all(len(s) <= _of(self.alone, s).largest for s in structures)


def _of(curves: Mapping[bool, Curve], structure: Structure) -> Curve:
    """The curve of a structure; the other one where only that is known."""
    return curves.get(any(structure.pbc)) or next(iter(curves.values()))


def steady(seconds: float, together: float | None = None) -> Pace:
    """The pace of small structures, until more is known."""
    batches = None if together is None else {False: Curve(((SMALL, together),))}
    return Pace({False: Curve(((SMALL, seconds),))}, batches)


def time_limit(job: Job) -> float | None:
    """The seconds to which a job keeps by itself, however large its structures are; None for most."""
    limit = job.settings.get("seconds") if isinstance(job, Probe) else None
    return None if limit is None else float(limit)


def pace_job(structure: Structure) -> Probe:
    """The question how long one structure takes."""
    return Probe(PROBE, (structure,), force_calls=6)


def measure_pace(runner: Runner, jobs: Iterable[Job]) -> Pace:
    """The pace for structures as jobs have them; asks only what the store does not know yet.

    Free and periodic structures are measured apart, from the smallest on. What the model refuses is passed over; when a
    worker is lost, or the next size is expected to take too long, the larger ones are left to extrapolation.
    """
    found = {periodic: _measured(runner, sizes) for periodic, sizes in _sizes(jobs).items()}
    known = {periodic: rows for periodic, rows in found.items() if rows}
    if not known:
        return runner.pace
    alone = {periodic: Curve(tuple((n, one) for n, one, _ in rows)) for periodic, rows in known.items()}
    together = {periodic: Curve(tuple((n, many) for n, _, many in rows)) for periodic, rows in known.items()}
    return Pace(alone, together if runner.model.build_batch is not None else None)


def _sizes(jobs: Iterable[Job]) -> dict[bool, list[Structure]]:
    """A structure of each size to measure, of the job that asks for most evaluations of that size."""
    best: dict[bool, dict[int, tuple[int, Structure]]] = {False: {}, True: {}}
    for job in (job for job in jobs if time_limit(job) is None):
        for structure in filter(len, structures_of(job)):
            sizes = best[any(structure.pbc)]
            if job.expected_calls > sizes.get(len(structure), (0, structure))[0]:
                sizes[len(structure)] = job.expected_calls, structure
    return {periodic: [sizes[n][1] for n in _spread(sorted(sizes))] for periodic, sizes in best.items() if sizes}


def _spread(sizes: Sequence[int]) -> list[int]:
    """The smallest and the largest size, and some between that are apart from each other."""
    chosen = [sizes[0]]
    for size in sizes[1:]:
        if size >= APART * chosen[-1]:
            chosen.append(size)
    if sizes[-1] >= math.sqrt(APART) * chosen[-1]:
        return [*chosen, sizes[-1]]
    return [*chosen[:-1], sizes[-1]]


def _measured(runner: Runner, structures: Sequence[Structure]) -> list[tuple[int, float, float]]:
    """Atoms and seconds, alone and together, of each structure that could be measured."""
    rows: list[tuple[int, float, float]] = []
    spent = 0.0
    for structure in structures:
        before = Curve(tuple((n, one) for n, one, _ in rows)) if rows else None
        expected = before.at(len(structure), CAUTION) if before else runner.pace.seconds([structure])
        if spent > BUDGET or 2.0 * expected > LONGEST:
            break
        outcome = _asked(runner, pace_job(structure))
        if outcome is None or outcome.status == ERROR:
            break
        if outcome.status == OK:
            spent += float(outcome.values["spent"])
            alone, together = (float(outcome.values[name]) for name in ("seconds", "seconds_together"))
            rows.append((len(structure), alone, min(alone, together)))
    return rows


def _asked(runner: Runner, job: Probe) -> Outcome | None:
    runner.complete([job], "pace")
    return runner.known.get(runner.key(job))
