"""Runs the jobs that the store does not have yet, and finds the job that killed a worker."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.compute.bundling import make_bundle, make_bundles
from assay.compute.cost import CostModel
from assay.compute.executors.base import DIED, HUNG, STOPPED, Bundle, Executor, Finished, KeyedJob
from assay.compute.progress import report_simulation_steps
from assay.errors import Cause
from assay.jobs import Dynamics, Job, job_key
from assay.model import Model
from assay.outcome import ERROR, Outcome
from assay.settings import Progress, silent
from assay.stopping import stop_if_asked
from assay.store import Outcomes, Store

GIVE_UP = {HUNG: 4, DIED: 40, STOPPED: 4}
"""When this number of workers in a row are lost in the same way, without one finished job in between, the run stops.
A model that hangs costs a deadline each time, a model that dies only a moment."""


@dataclass
class Runner:
    """Completes jobs for one model. Jobs with an outcome in the store are not run again, unless it is an error."""

    model: Model
    store: Store
    executor: Executor
    cost: CostModel
    progress: Progress = silent
    known: Outcomes = field(default_factory=Outcomes)
    """The outcomes that the store had when it was read last, by the keys of their jobs."""

    gave_up: str = ""
    """Why the run was stopped early; empty unless too many workers were lost."""

    lost_in_a_row: int = 0
    _keys: dict[Job, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.known = self.store.outcomes()

    def key(self, job: Job) -> str:
        """The key of a job for this model. It is computed only once, because a job may hold a hundred structures."""
        if job not in self._keys:
            self._keys[job] = job_key(job, self.model.fingerprint)
        return self._keys[job]

    def missing(self, jobs: Iterable[Job]) -> dict[str, Job]:
        """Jobs by their keys, each once, that have no outcome yet, lost their trajectory, or ended in an error."""
        wanted = {self.key(job): job for job in jobs}
        return {key: job for key, job in wanted.items() if self.known.status(key) in (None, ERROR)}

    def complete(self, jobs: Iterable[Job], what: str, deadline: float | None = None) -> None:
        """Run what is missing. Afterwards `known` has an outcome for each job, unless too many workers were lost.

        Args:
            jobs: the jobs to complete.
            what: what the jobs are for, for the progress bar.
            deadline: seconds for each bundle, in place of the deadline of the cost model.
        """
        stop_if_asked()  # a package that the model imports may have swallowed the exception
        missing = self.missing(jobs)
        if not missing:
            return
        total, done = sum(job.expected_calls for job in missing.values()), 0

        def report(steps: int = 0) -> None:
            self.progress(min(done + steps, total), total, what)

        simulations = [key for key, job in missing.items() if isinstance(job, Dynamics)]
        waiting = make_bundles(missing, self.cost, deadline)
        with report_simulation_steps(self.store.folder, simulations if self.progress is not silent else (), report):
            while waiting and not self.gave_up:
                bundles, waiting = waiting, []
                for finished in self.executor.run(bundles):
                    stop_if_asked()
                    again = self._after(finished)
                    waiting += again
                    done += _calls(finished.bundle) - sum(_calls(bundle) for bundle in again)
                    report()
                    if self.gave_up:
                        break
        self.known = self.store.outcomes()

    def _after(self, finished: Finished) -> list[Bundle]:
        """The bundles that must run after this one: none if all went well, else its jobs without the guilty one."""
        if not finished.lost:
            self.lost_in_a_row = 0
            return []
        jobs = finished.bundle.jobs
        left = self._unfinished(jobs)
        if not left:
            return []
        self.store.require_room()
        self.lost_in_a_row = 1 if len(left) < len(jobs) else self.lost_in_a_row + 1  # a finished job resets the count
        if len(left) > 1 and all(self.cost.shares_batches(job) for _, job in left):
            # They were in common batches, so any of them may be the guilty one.
            middle = len(left) // 2
            return [make_bundle(left[:middle], self.cost), make_bundle(left[middle:], self.cost)]
        if finished.lost == STOPPED and self.lost_in_a_row < GIVE_UP[STOPPED]:
            return [make_bundle(left, self.cost)]  # a signal from elsewhere is no job's fault
        return self._without_suspect(finished, left)

    def _unfinished(self, jobs: Sequence[KeyedJob]) -> list[KeyedJob]:
        """The jobs of a lost bundle that have no new outcome."""
        written = self.store.outcomes()
        # An outcome that was there before the bundle started is the old error, not a new answer.
        return [(key, job) for key, job in jobs if key not in written or self.known.line(key) == written.line(key)]

    def _without_suspect(self, finished: Finished, left: Sequence[KeyedJob]) -> list[Bundle]:
        """What to run after a worker was lost at the first unfinished job, which is tried alone or becomes an error."""
        suspect, rest = left[0], left[1:]
        again = [make_bundle(rest, self.cost)] if rest else []
        if finished.lost != HUNG and len(finished.bundle.jobs) > 1:
            # The cause may be a job that ran before it, so the suspect gets a second try, alone.
            return [make_bundle([suspect], self.cost), *again]
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
