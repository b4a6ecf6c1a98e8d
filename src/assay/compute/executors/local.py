"""Where jobs run: supervised worker processes on this machine, or, for what cannot leave it, this very process."""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay.compute.processes import CleanSpawn
from assay.compute.worker import Engines, prepare_process, run_bundle, run_jobs
from assay.jobs import Job
from assay.model import Model, ModelReference
from assay.store import Store

if TYPE_CHECKING:
    from pebble import ProcessPool

ENVIRONMENT = {
    # One thread each: two workers with many threads get in each other's way, and OpenMP spins while it waits.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # The C library keeps freed arrays for the next batch; else each batch asks the system for its pages anew.
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
"""What workers find in their environment, unless the user has set it."""

Keyed = tuple[str, Job]
HUNG, DIED = "hung", "died"


@dataclass(frozen=True)
class Bundle:
    """Jobs that go to a worker together, with the seconds they may take."""

    jobs: Sequence[Keyed]
    deadline: float


@dataclass(frozen=True)
class Finished:
    """What became of a bundle: nothing to say, or how the worker was lost."""

    bundle: Bundle
    lost: str = ""
    reason: str = ""
    statuses: Sequence[tuple[str, str]] = ()


class Executor(Protocol):
    """Runs bundles with one model, so many at a time as there are `workers`; outcomes appear in the store."""

    workers: int

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Bundles in the order in which they finish."""
        ...


class InProcess:
    """Runs in this process: no deadline and no protection, but any object will do as a model."""

    workers = 1

    def __init__(self, model: Model, store: Store) -> None:
        self.engines, self.store = Engines(model, store.folder), store

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """One bundle after another."""
        for bundle in bundles:
            yield Finished(bundle, statuses=run_jobs(self.engines, self.store, bundle.jobs))


class LocalProcesses:
    """Worker processes that each load the model once; one that hangs is killed, one that dies is replaced.

    Each worker is a pool of its own, started when it is needed: a single bundle always goes to the first one, which
    has the model loaded already.
    """

    def __init__(self, reference: ModelReference, store: Store, workers: int) -> None:
        self.arguments, self.workers = [reference, str(store.folder)], workers
        self.pools: dict[int, ProcessPool] = {}

    def _pool(self, number: int) -> ProcessPool:
        from pebble import ProcessPool

        if number not in self.pools:
            # A spawned worker starts clean: no threads or locks of the parent, which torch and OpenMP do not survive.
            self.pools[number] = ProcessPool(
                max_workers=1, initializer=prepare_process, initargs=self.arguments, context=CleanSpawn()
            )
        return self.pools[number]

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Bundles as they finish, lost ones included."""
        waiting, idle = deque(bundles), list(range(self.workers))
        running: dict[Future, tuple[int, Bundle]] = {}
        while waiting or running:
            while waiting and idle:
                number, bundle = heapq.heappop(idle), waiting.popleft()
                future = self._pool(number).schedule(run_bundle, args=[list(bundle.jobs)], timeout=bundle.deadline)
                running[future] = number, bundle
            done, _ = wait(running, return_when=FIRST_COMPLETED, timeout=1.0)
            for finished in done:
                number, bundle = running.pop(finished)
                heapq.heappush(idle, number)
                yield _finished(bundle, finished)

    def stop(self) -> None:
        """Kill the workers; what they have written stays."""
        for pool in self.pools.values():
            pool.stop()
        for pool in self.pools.values():
            pool.join()


def _finished(bundle: Bundle, future: Future) -> Finished:
    """Read a future that is done. Whatever the worker raised is data here, even an exit or an interrupt."""
    from pebble import ProcessExpired

    error = future.exception()
    if error is None:
        return Finished(bundle, statuses=future.result())
    if isinstance(error, TimeoutError):
        return Finished(bundle, HUNG, f"no answer within {bundle.deadline:.0f} s; the worker was killed")
    if isinstance(error, ProcessExpired):
        return Finished(bundle, DIED, f"the worker died ({_cause(error.exitcode)})")
    return Finished(bundle, DIED, f"{type(error).__name__}: {error}")


def _cause(exitcode: int | None) -> str:
    if exitcode is None:
        return "cause unknown"
    if exitcode < 0:
        import signal

        try:
            return f"signal {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"signal {-exitcode}"
    return f"exit code {exitcode}"


@contextmanager
def open_executor(model: Model, store: Store, workers: int) -> Iterator[Executor]:
    """The executor for a model: worker processes, or this process for `workers=0` and models that cannot be sent."""
    if workers == 0 or model.reference is None:
        yield InProcess(model, store)
        return
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    executor = LocalProcesses(model.reference, store, workers)
    try:
        yield executor
    finally:
        executor.stop()
