"""Jobs in worker processes on this machine, which are supervised: a model that hangs or crashes costs one worker."""

from __future__ import annotations

import heapq
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import c_uint64
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Self

from assay.compute.executors.base import DIED, HUNG, STOPPED, Bundle, Finished
from assay.compute.processes import CleanSpawn
from assay.compute.watchdog import Limits, Reading, Watch, advice, read_process
from assay.compute.worker import work
from assay.model import ModelReference
from assay.store import Store

if TYPE_CHECKING:
    import psutil

ENVIRONMENT = {
    # One thread per worker: workers with many threads slow each other down, and OpenMP uses the core while it waits.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # The C library keeps freed arrays for the next batch; otherwise each batch asks the system for its pages again.
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
"""Environment variables of the workers, unless the user has set them."""

KILLED = 10.0
"""Seconds until a killed process has ended; one that waits for a broken disk may stay for ever."""


class WorkerProcess:
    """A worker process, the pipe to it, and the watch over its present bundle."""

    def __init__(self, reference: ModelReference, folder: str) -> None:
        import psutil

        context = CleanSpawn()
        # A spawned worker starts clean: torch and OpenMP fail with threads or locks that were copied from a parent.
        self.pipe, theirs = context.Pipe()
        self.answers: c_uint64 = context.RawValue(c_uint64, 0)
        arguments = (theirs, self.answers, os.getpid(), reference, folder)
        self.process = context.Process(target=work, args=arguments)
        self.process.start()
        theirs.close()
        self.system: psutil.Process = psutil.Process(self.process.pid)
        self.bundle: Bundle | None = None
        self.watch: Watch | None = None
        self.sender: threading.Thread | None = None
        self.cpu_seconds = 0.0

    def send(self, bundle: Bundle) -> None:
        """Give the worker a bundle. A thread sends it, because a worker that is stopped would not read it."""
        data = ForkingPickler.dumps(bundle)
        self.bundle, self.watch = bundle, Watch(Limits(bundle.deadline, bundle.timeout), self._read())
        self.sender = threading.Thread(target=_send, args=(self.pipe, data), daemon=True)
        self.sender.start()

    def check(self) -> Finished | None:
        """The end of the present bundle, if the worker has answered, died, or must be killed; otherwise None."""
        bundle, watch = self.bundle, self.watch
        if bundle is None or watch is None:
            raise RuntimeError("a worker without a bundle was checked")
        alive = self.process.is_alive()  # before the pipe is read: a worker may answer and then die
        if self.pipe.poll():
            with suppress(EOFError, OSError):
                self.bundle = None
                reason, used = self.pipe.recv()
                self.cpu_seconds = max(self.cpu_seconds, used)
                return Finished(bundle, DIED if reason else "", reason)
        if not alive or self.bundle is None:
            self.process.join(1.0)
            return Finished(bundle, DIED, f"the worker died ({_cause(self.process.exitcode)})")
        if time.monotonic() - watch.last.clock < watch.limits.interval:
            return None
        reading = self._read()
        problem = watch.problem(reading)
        if not problem:
            return None
        lost = STOPPED if reading.stopped else HUNG
        return Finished(bundle, lost, f"{problem}{advice(bundle.timeout)}; the worker was killed")

    def _read(self) -> Reading:
        reading = read_process(self.system, time.monotonic(), self.answers.value)
        self.cpu_seconds = max(self.cpu_seconds, reading.cpu)
        return reading

    def kill(self) -> None:
        """Kill the worker and every process that it has started."""
        import psutil

        family = []
        with suppress(psutil.Error):
            family = self.system.children(recursive=True)
        self.process.kill()
        for child in family:
            with suppress(psutil.Error):
                child.kill()
        self.process.join(KILLED)
        if self.sender is not None:
            # Otherwise it could write into the pipe of the next worker, which may get the same number.
            self.sender.join(KILLED)
        self.pipe.close()


def _send(pipe: Connection, data: bytes) -> None:
    with suppress(OSError):  # the worker has died, which its watch finds out
        pipe.send_bytes(data)


class LocalProcesses:
    """Worker processes that each load the model once. A worker that hangs is killed, one that dies is replaced.

    A worker is started when it is needed. A single bundle always goes to the first worker, which has already loaded the
    model.
    """

    def __init__(self, reference: ModelReference, store: Store, workers: int) -> None:
        self.reference, self.folder, self.workers = reference, str(store.folder), workers
        self.processes: dict[int, WorkerProcess] = {}
        self._earlier = 0.0

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that all workers have used so far, including those that were lost."""
        return self._earlier + sum(worker.cpu_seconds for worker in self.processes.values())

    def __enter__(self) -> Self:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Run all bundles, and give each one back when it is finished or its worker is lost."""
        waiting, idle = deque(bundles), list(range(self.workers))
        busy: set[int] = set()
        try:
            while waiting or busy:
                while waiting and idle:
                    busy.add(number := heapq.heappop(idle))
                    self._worker(number).send(waiting.popleft())
                self._wait(busy)
                for number in sorted(busy):
                    finished = self.processes[number].check()
                    if finished is not None:
                        busy.remove(number)
                        heapq.heappush(idle, number)
                        if finished.lost:
                            self._drop(number)
                        yield finished
        finally:
            for number in busy:  # nobody waits for their answers any more
                self._drop(number)

    def _worker(self, number: int) -> WorkerProcess:
        """A worker that is ready for a bundle; a new one in place of one that died while it had nothing to do."""
        if number in self.processes and not self.processes[number].process.is_alive():
            self._drop(number)
        if number not in self.processes:
            self.processes[number] = WorkerProcess(self.reference, self.folder)
        return self.processes[number]

    def _wait(self, busy: set[int]) -> None:
        """Wait until a worker answers or ends, or it is time to look at them."""
        workers = [self.processes[number] for number in busy]
        signs = [sign for worker in workers for sign in (worker.pipe, worker.process.sentinel)]
        wait(signs, timeout=min(worker.watch.limits.interval for worker in workers if worker.watch is not None))

    def _drop(self, number: int) -> None:
        worker = self.processes.pop(number)
        worker.kill()
        self._earlier += worker.cpu_seconds

    def stop(self) -> None:
        """Kill the workers; what they have written stays in the store."""
        for number in list(self.processes):
            self._drop(number)


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
