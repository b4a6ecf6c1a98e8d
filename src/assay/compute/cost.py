"""What computing costs: the expected time of a job, its deadline, and how much work a worker gets at once.

Everything follows from measured times of one evaluation by the number of atoms, and from the time to load the model.
Times are CPU seconds, so that they do not depend on other programs; for a model on an accelerator they are wall times.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from assay.compute.engines.batch_size import SPOT_CHECKS, width_of
from assay.compute.executors.base import Bundle
from assay.compute.overheads import own_seconds
from assay.jobs import Job, Probe, SinglePoints, structures_of
from assay.settings import TIMEOUT
from assay.structure import Structure

if TYPE_CHECKING:
    from assay.model import Model

SMALL = 12
"""Atoms in the largest structures of the survey. Up to this size an evaluation is assumed to cost the same."""

STEEPEST = 3.0
"""The highest power of the number of atoms by which times are extrapolated to larger systems."""

DEADLINE_FACTOR = 20.0
"""A deadline allows this factor times the longest time that the jobs should take."""

UNCONVERGED_FACTOR = 60.0
"""The same for a bundle of short jobs. A self-consistent field that does not converge takes up to 60 times as long as
one that does, and all jobs of a short bundle may be of that kind (the compressions of one cluster, for example). The
additional time is at most twice the timeout."""

BUNDLE_SECONDS = 1.5
BUNDLES = 16
LONGEST_BUNDLE = 30.0
"""A large amount of work is cut into at least `BUNDLES` bundles, of at least `BUNDLE_SECONDS` and at most
`LONGEST_BUNDLE` seconds each: a bundle is what a lost worker can cost."""


@dataclass(frozen=True)
class TimingCurve:
    """Seconds of one evaluation at each measured number of atoms, smallest first."""

    points: tuple[tuple[int, float], ...]

    @property
    def largest(self) -> int:
        """The largest number of atoms that was measured."""
        return self.points[-1][0]

    def at(self, atoms: int, least_power: float = 1.0) -> float:
        """Seconds for a number of atoms: a power law between measured sizes.

        Beyond the largest size the power is at least `least_power`. Below the smallest size the time is that of the
        smallest size, because the fixed cost of an evaluation hides the cost of atoms there.
        """
        place = bisect_left(self.points, (atoms, -math.inf))
        if place == 0:
            return self.points[0][1]
        size, seconds = self.points[place - 1]
        if place < len(self.points):
            power = _power(self.points[place - 1], self.points[place])
        else:
            power = _power(*self.points[-2:]) if len(self.points) > 1 else least_power
            power = min(max(power, least_power), STEEPEST)
        return float(seconds * (atoms / size) ** power)


def _power(below: tuple[int, float], above: tuple[int, float]) -> float:
    return math.log(above[1] / below[1]) / math.log(above[0] / below[0])


@dataclass(frozen=True)
class Timings:
    """Timing curves for isolated and for periodic structures (the keys are `periodic`), alone and in batches.

    `batched` is None for a model without batches. `first` is how much longer the first evaluation of a number of atoms
    takes than the next ones: some models compile or load something for every size.
    """

    alone: Mapping[bool, TimingCurve]
    batched: Mapping[bool, TimingCurve] | None = None
    first: float = 0.0
    problem: str = ""
    """Why no structure of the plan could be measured, so that these are only the times of small structures."""

    @classmethod
    def of_small_structures(cls, seconds: float, batched: float | None = None) -> Timings:
        """Timings from the time of small structures only, until larger ones are measured."""
        curves = None if batched is None else {False: TimingCurve(((SMALL, batched),))}
        return cls({False: TimingCurve(((SMALL, seconds),))}, curves)

    def seconds(self, structures: Sequence[Structure], batched: bool = False) -> float:
        """The mean time of one evaluation of these structures."""
        curves = self.batched if batched and self.batched is not None else self.alone
        times = [_curve_for(curves, s).at(len(s)) for s in structures]
        return sum(times) / len(times) if times else min(curve.at(1) for curve in curves.values())

    def covers(self, structures: Iterable[Structure]) -> bool:
        """False when one of these structures is larger than all that were measured."""
        return all(len(s) <= _curve_for(self.alone, s).largest for s in structures)


def _curve_for(curves: Mapping[bool, TimingCurve], structure: Structure) -> TimingCurve:
    """The curve for a structure; the other curve if only that one was measured."""
    return curves.get(any(structure.pbc)) or next(iter(curves.values()))


UNMEASURED = Timings.of_small_structures(0.02)
"""The timings before the model has answered anything."""


@dataclass(frozen=True)
class BenchmarkCost:
    """What a benchmark still has to compute; a job that several benchmarks ask for is counted with the first."""

    cases: int
    jobs: int
    force_calls: int
    """Expected evaluations; minimisations may need more or fewer."""

    seconds: float
    """Expected CPU time."""

    extrapolated: bool
    """True when some systems are larger than all that were measured."""


class Evaluated:
    """The numbers of atoms that a worker has evaluated, in batches (True) or alone."""

    def __init__(self) -> None:
        self.sizes: set[tuple[bool, int]] = set()
        self.widths: set[int] = set()

    def add(self, sizes: Iterable[tuple[bool, int]]) -> int:
        """Add numbers of atoms; returns how many first evaluations that makes.

        Of the first batch of each width a few structures are also evaluated alone.
        """
        new = set(sizes)
        by_width: dict[int, list[int]] = {}
        for _, atoms in sorted(size for size in new if size[0]):
            by_width.setdefault(width_of(atoms), []).append(atoms)
        for width in by_width.keys() - self.widths:
            new |= {(False, atoms) for atoms in by_width[width][:SPOT_CHECKS]}
        self.widths |= by_width.keys()
        new -= self.sizes
        self.sizes |= new
        return len(new)


class Schedule(NamedTuple):
    """The expected time of some bundles with some workers."""

    clock_seconds: float
    """Seconds until all are finished, on a machine with a core for each worker."""

    cpu_seconds: float
    """CPU seconds of all workers, with what it takes to start them."""


@dataclass
class CostModel:
    """Expected times and deadlines of jobs for one model.

    The survey and the measurement of the plan's structures record here what they find.
    """

    has_batches: bool = False
    timeout: float = TIMEOUT
    load_seconds: float = 0.0
    """CPU seconds to start a worker, load the model and get its first answer."""

    timings: Timings = UNMEASURED
    build_seconds: float = 0.0
    """CPU seconds to build one more calculator where the model is loaded."""

    difficulty: dict[Job, float] = field(default_factory=dict)
    """For jobs of which a sample was measured: the time of an evaluation, relative to others of the same size."""

    @classmethod
    def of_model(cls, model: Model, timeout: float = TIMEOUT) -> CostModel:
        """The cost model before the model was asked anything."""
        return cls(has_batches=model.build_batch is not None, timeout=timeout)

    def record_load_time(self, seconds: float) -> None:
        """Set the time that it takes to load the model and to get its first answer."""
        self.load_seconds = seconds

    def record_small_structures(self, seconds: float, batched: float | None = None) -> None:
        """Replace the timings by the time of one evaluation of a small structure, alone and in a batch."""
        self.timings = Timings.of_small_structures(seconds, batched)

    def record_timings(self, timings: Timings) -> None:
        """Replace the timings by curves that were measured."""
        self.timings = timings

    def shares_batches(self, job: Job) -> bool:
        """True when the structures of a job are evaluated in batches with those of other jobs."""
        return self.has_batches and job.poolable

    def seconds(self, job: Job) -> float:
        """The expected time of a job, on one core, for sizes that the model has evaluated before."""
        return self._evaluations(job) + own_seconds(job) + self._in_calculators_of_its_own(job)

    def _evaluations(self, job: Job) -> float:
        if self.has_batches and isinstance(job, SinglePoints) and job.sample:
            return self._seconds(job, len(job.sample), False) + self._seconds(job, len(job.structures), True)
        if self.has_batches and isinstance(job, Probe) and job.from_batches:
            alone = job.force_calls - job.from_batches
            return self._seconds(job, alone, False) + self._seconds(job, job.from_batches, True)
        return self._seconds(job, job.expected_calls, self.shares_batches(job))

    def _in_calculators_of_its_own(self, job: Job) -> float:
        """Seconds for calculators and processes that a probe starts: to build them, and for their first evaluations."""
        if not isinstance(job, Probe):
            return 0.0
        first = self.timings.first * len({len(s) for s in job.structures})
        return job.calculators * (self.build_seconds + first) + job.processes * (self.load_seconds + first)

    def longest(self, job: Job) -> float:
        """The longest time that a job should take: all evaluations that it may need, one structure after another."""
        return self._seconds(job, job.force_calls, batched=False)

    def _seconds(self, job: Job, calls: float, batched: bool) -> float:
        structures, limit = structures_of(job), time_limit(job)
        calls = calls * self.difficulty.get(job, 1.0)
        if limit is None:
            return calls * self.timings.seconds(structures, batched)
        total = 0.0
        for structure in structures:  # a probe with a time limit leaves out what it has no time for
            more = calls / len(structures) * self.timings.seconds([structure])
            total += more if total + more <= limit else 0.0
        return total

    @property
    def contact_deadline(self) -> float:
        """CPU seconds that the first question may take, when no time is known and the model must be loaded."""
        return 4.0 * self.timeout

    def deadline(self, jobs: Iterable[Job]) -> float:
        """CPU seconds after which a worker that runs these jobs is killed."""
        seconds = sum(self.longest(job) for job in jobs)
        unconverged = min((UNCONVERGED_FACTOR - DEADLINE_FACTOR) * seconds, 2.0 * self.timeout)
        return self.timeout + 3.0 * self.load_seconds + DEADLINE_FACTOR * seconds + unconverged

    def bundle_seconds(self, jobs: Iterable[Job]) -> float:
        """How long a bundle of these jobs should take.

        Work that is shorter than loading the model stays with one worker.
        """
        total = sum(self.seconds(job) for job in jobs)
        if total <= self.load_seconds:
            return max(BUNDLE_SECONDS, total)
        return max(BUNDLE_SECONDS, min(self.load_seconds, total / BUNDLES, LONGEST_BUNDLE))

    def schedule(self, bundles: Iterable[Bundle], workers: int) -> Schedule:
        """The expected time of all bundles; each worker takes one bundle after another.

        Every worker loads the model, and makes its own first evaluation of each number of atoms.
        """
        busy = [(0.0, number) for number in range(max(workers, 1))]
        evaluated: dict[int, Evaluated] = {}
        for bundle in bundles:
            seconds, number = busy[0]
            seconds += 0.0 if number in evaluated else self.load_seconds
            jobs = [job for _, job in bundle.jobs]
            seconds += sum(map(self.seconds, jobs)) + self.first_seconds(
                jobs, evaluated.setdefault(number, Evaluated())
            )
            heapq.heapreplace(busy, (seconds, number))
        return Schedule(max(seconds for seconds, _ in busy), sum(seconds for seconds, _ in busy))

    def first_seconds(self, jobs: Iterable[Job], evaluated: Evaluated) -> float:
        """Seconds for the first evaluations of numbers of atoms that are not in `evaluated`; they are added to it."""
        return self.timings.first * evaluated.add(
            (self.shares_batches(job), len(s)) for job in jobs for s in structures_of(job)
        )

    def benchmark_cost(self, cases: int, jobs: Sequence[Job], evaluated: Evaluated | None = None) -> BenchmarkCost:
        """The cost of the jobs that a benchmark with this number of cases still needs.

        `evaluated` are the numbers of atoms of benchmarks before it.
        """
        calls, seconds = sum(job.expected_calls for job in jobs), sum(self.seconds(job) for job in jobs)
        seconds += self.first_seconds(jobs, evaluated or Evaluated())
        measured = all(self.timings.covers(structures_of(job)) for job in jobs if time_limit(job) is None)
        return BenchmarkCost(cases, len(jobs), calls, seconds, extrapolated=not measured)


def time_limit(job: Job) -> float | None:
    """Seconds after which a job stops by itself, however large its structures are; None for most jobs."""
    limit = job.settings.get("seconds") if isinstance(job, Probe) else None
    return None if limit is None else float(limit)
