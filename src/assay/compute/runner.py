"""From missing jobs to outcomes in the store: bundles, deadlines, and finding the job that killed a worker."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.compute.cost import Pace, steady, time_limit
from assay.compute.executors.local import DIED, HUNG, Bundle, Executor, Finished, Keyed
from assay.compute.progress import lookout
from assay.errors import Cause
from assay.jobs import Dynamics, Job, SinglePoints, job_key, structures_of
from assay.model import Model
from assay.outcome import ERROR, Outcome
from assay.store import Store

TIMEOUT = 30.0
"""Seconds that a job may take on top of twenty times what it is expected to take."""

PATIENCE = 20.0
STUBBORN = 60.0
"""A field that does not converge takes up to sixty times as long as one that does. A whole bundle may be of that
kind if it is short, as the compressions of one cluster; so that much is allowed, up to twice the timeout more."""

BUNDLE_SECONDS = 1.5
BUNDLE_JOBS = 24
BUNDLES = 16
LONGEST_BUNDLE = 30.0
"""Much work is cut into this many bundles or more, of this many seconds at most: what a lost worker can cost."""

IN_STEP = 16
"""So many relaxations and bands travel together at least, where the model has batches: each round is one batch."""

GIVE_UP = {HUNG: 4, DIED: 40}
"""So many workers lost in a row in the same way, with no job finished in between, and the rest is left for another day:
a model that hangs costs a deadline each time, one that dies only a moment."""

UNKNOWN = steady(0.02)
"""The pace before anything was asked."""

Progress = Callable[[int, int, str], None]


def silent(done: int, total: int, what: str) -> None:
    """Report nothing."""


@dataclass
class Runner:
    """Completes jobs for one model. What the store already has is not run again, unless it ended in error."""

    model: Model
    store: Store
    executor: Executor
    timeout: float = TIMEOUT
    pace: Pace = UNKNOWN
    load_seconds: float = 0.0
    progress: Progress = silent
    known: dict[str, Outcome] = field(default_factory=dict)
    gave_up: str = ""
    lost_in_a_row: int = 0
    _keys: dict[Job, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = self.store.outcomes()

    def key(self, job: Job) -> str:
        """The key of a job for this model, computed once: a job may hold a hundred structures."""
        if job not in self._keys:
            self._keys[job] = job_key(job, self.model.fingerprint)
        return self._keys[job]

    def missing(self, jobs: Iterable[Job]) -> dict[str, Job]:
        """Jobs without an outcome, or with one that the machine spoilt, each once."""
        wanted = {self.key(job): job for job in jobs}
        return {k: job for k, job in wanted.items() if k not in self.known or self.known[k].status == ERROR}

    def complete(self, jobs: Iterable[Job], what: str, deadline: float | None = None) -> None:
        """Run what is missing. Afterwards `known` has an outcome for each job, unless too many workers were lost."""
        missing = self.missing(jobs)
        total = sum(job.expected_calls for job in missing.values())
        done = 0
        waiting = list(self._bundles(missing, deadline))
        watched = self.progress is not silent
        moving = [key for key, job in missing.items() if watched and isinstance(job, Dynamics)]
        with lookout(self.store.folder, moving, lambda steps: self.progress(min(done + steps, total), total, what)):
            while waiting and not self.gave_up:
                batch, waiting = waiting, []
                for finished in self.executor.run(batch):
                    again = self._after(finished)
                    waiting += again
                    done += _calls(finished.bundle) - sum(_calls(bundle) for bundle in again)
                    self.progress(done, total, what)
                    if self.gave_up:
                        break
        self.known = self.store.outcomes()

    def _bundles(self, missing: Mapping[str, Job], deadline: float | None) -> Iterable[Bundle]:
        """Longest first, so that no worker is left with a long job at the end; short ones travel together.

        Jobs that may share batches stay side by side, large structures first, whatever benchmark they are of.
        """
        ordered = sorted(missing.items(), key=lambda item: (-self._atoms(item[1]), -self.seconds(item[1])))
        enough = self._bundle_seconds(ordered)
        current: list[Keyed] = []
        seconds = 0.0
        for item in ordered:
            more = self._expected([item])
            full = len(current) >= BUNDLE_JOBS and not self._pooled(item[1])
            if current and (full or seconds + more > enough) and not self._in_step(current):
                yield self._bundle(current, deadline)
                current, seconds = [], 0.0
            current.append(item)
            seconds += more
        if current:
            yield self._bundle(current, deadline)

    def _bundle_seconds(self, jobs: Sequence[Keyed]) -> float:
        """How long a bundle should take: work that is shorter than loading the model stays with one worker."""
        total = self._expected(jobs)
        if total <= self.load_seconds:
            return max(BUNDLE_SECONDS, total)
        return max(BUNDLE_SECONDS, min(self.load_seconds, total / BUNDLES, LONGEST_BUNDLE))

    def _bundle(self, jobs: list[Keyed], deadline: float | None = None) -> Bundle:
        seconds = self._seconds(jobs)
        stubborn = min((STUBBORN - PATIENCE) * seconds, 2.0 * self.timeout)
        return Bundle(tuple(jobs), deadline or self.timeout + 3.0 * self.load_seconds + PATIENCE * seconds + stubborn)

    def _seconds(self, jobs: Iterable[Keyed]) -> float:
        """The most time that jobs take one structure after another, which is what a deadline must allow for."""
        return sum(self._time(job, job.force_calls, together=False) for _, job in jobs)

    def _expected(self, jobs: Iterable[Keyed]) -> float:
        """The time that jobs take where those that can share batches do."""
        return sum(self.seconds(job) for _, job in jobs)

    def seconds(self, job: Job) -> float:
        """The expected time of a job, on one core."""
        return self._time(job, job.expected_calls, self._pooled(job))

    def _time(self, job: Job, calls: int, together: bool) -> float:
        seconds = calls * self.pace.seconds(structures_of(job), together)
        limit = time_limit(job)
        return seconds if limit is None else min(seconds, limit)

    def clock_seconds(self, missing: Mapping[str, Job]) -> float:
        """The expected time on the clock of all workers, which take one bundle after another."""
        busy = [0.0] * max(self.executor.workers, 1)
        for bundle in self._bundles(missing, None):
            heapq.heapreplace(busy, busy[0] + self._expected(bundle.jobs))
        return max(busy)

    def _pooled(self, job: Job) -> bool:
        return self.model.build_batch is not None and job.poolable

    def _in_step(self, jobs: Sequence[Keyed]) -> bool:
        """True for a few jobs that move side by side: one more makes their batches larger, the wait hardly longer."""
        moving = [job for _, job in jobs if self._pooled(job) and not isinstance(job, SinglePoints)]
        return 0 < len(moving) < IN_STEP

    def _atoms(self, job: Job) -> int:
        """The largest structure of a job that may share batches; 0 for other jobs."""
        return max((len(s) for s in structures_of(job)), default=0) if self._pooled(job) else 0

    def _after(self, finished: Finished) -> list[Bundle]:
        """What is left to do after a bundle: nothing if all went well, else its jobs without the guilty one."""
        if not finished.lost:
            self.lost_in_a_row = 0
            return []
        written = self.store.outcomes()
        jobs = finished.bundle.jobs
        left = [
            (key, job) for key, job in jobs if key not in written or self.known.get(key) == written[key]
        ]  # an outcome that was there before the bundle started is the old error, not a new answer
        if not left:
            return []
        self.lost_in_a_row = 1 if len(left) < len(jobs) else self.lost_in_a_row + 1  # progress starts the count anew
        if len(left) > 1 and all(self._pooled(job) for _, job in left):
            # They were in common batches, so any of them may be the guilty one.
            middle = len(left) // 2
            return [self._bundle(left[:middle]), self._bundle(left[middle:])]
        suspect, rest = left[0], left[1:]
        again = [self._bundle(rest)] if rest else []
        if finished.lost != HUNG and len(jobs) > 1:
            # It may have died of what came before: the suspect gets another chance, alone.
            return [self._bundle([suspect]), *again]
        self._record_loss(suspect[0], finished.reason)
        if self.lost_in_a_row >= GIVE_UP[finished.lost]:
            count = self.lost_in_a_row
            self.gave_up = (
                f"{count} workers in a row were lost without finishing a job, the last one: {finished.reason}"
            )
        return again

    def _record_loss(self, key: str, reason: str) -> None:
        outcome = Outcome(
            key, ERROR, reason=reason, provenance={"engine": "ase", "finished": time.time()}, cause=Cause.WORKER_LOST
        )
        self.store.append(outcome)


def _calls(bundle: Bundle) -> int:
    """Evaluations that the jobs of a bundle are expected to take."""
    return sum(job.expected_calls for _, job in bundle.jobs)
