"""Jobs in worker processes on this machine, which are supervised: a model that hangs or crashes costs one worker."""

from __future__ import annotations

import heapq
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, TimeoutError, wait
from typing import TYPE_CHECKING, Self

from assay.compute.executors.base import DIED, HUNG, Bundle, Finished
from assay.compute.processes import CleanSpawn
from assay.compute.worker import prepare_process, run_bundle
from assay.model import ModelReference
from assay.store import Store

if TYPE_CHECKING:
    from pebble import ProcessPool

ENVIRONMENT = {
    # One thread per worker: workers with many threads slow each other down, and OpenMP uses the core while it waits.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # The C library keeps freed arrays for the next batch; otherwise each batch asks the system for its pages again.
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
"""Environment variables of the workers, unless the user has set them."""


class LocalProcesses:
    """Worker processes that each load the model once. A worker that hangs is killed, one that dies is replaced.

    Each worker is a pool of its own and is started when it is needed. A single bundle always goes to the first worker,
    which has already loaded the model.
    """

    def __init__(self, reference: ModelReference, store: Store, workers: int) -> None:
        self.arguments, self.workers = [reference, str(store.folder)], workers
        self.pools: dict[int, ProcessPool] = {}

    def __enter__(self) -> Self:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _pool(self, number: int) -> ProcessPool:
        from pebble import ProcessPool

        if number not in self.pools:
            # A spawned worker starts clean: torch and OpenMP fail with threads or locks that were copied from a parent.
            self.pools[number] = ProcessPool(
                max_workers=1, initializer=prepare_process, initargs=self.arguments, context=CleanSpawn()
            )
        return self.pools[number]

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Run all bundles, and give each one back when it is finished or its worker is lost."""
        waiting, idle = deque(bundles), list(range(self.workers))
        running: dict[Future, tuple[int, Bundle]] = {}
        while waiting or running:
            while waiting and idle:
                number, bundle = heapq.heappop(idle), waiting.popleft()
                answer = self._pool(number).schedule(run_bundle, args=[bundle], timeout=bundle.deadline)
                running[answer] = number, bundle
            done, _ = wait(running, return_when=FIRST_COMPLETED, timeout=1.0)
            for future in done:
                number, bundle = running.pop(future)
                heapq.heappush(idle, number)
                yield _finished(bundle, future)

    def stop(self) -> None:
        """Kill the workers; what they have written stays in the store."""
        for pool in self.pools.values():
            pool.stop()
        for pool in self.pools.values():
            pool.join()


def _finished(bundle: Bundle, future: Future) -> Finished:
    """Read a future that is done. Any error that the worker raised is data here, even SystemExit or an interrupt."""
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
    """Why a process ended, for example `signal SIGKILL`."""
    if exitcode is None:
        return "cause unknown"
    if exitcode >= 0:
        return f"exit code {exitcode}"
    try:
        return f"signal {signal.Signals(-exitcode).name}"
    except ValueError:
        return f"signal {-exitcode}"
