"""The program of a worker process: load the model once, run bundles of jobs, write each outcome when it is finished."""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import c_uint64
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path

from assay.compute.clock import cpu_seconds
from assay.compute.engines.batch_size import peak_megabytes_since_start
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.sampled import SampledEngine
from assay.compute.executors.base import Bundle, KeyedJob
from assay.compute.heartbeat import beat, share
from assay.compute.logs import print_to_log
from assay.compute.processes import end_with_parent
from assay.jobs import Job, SinglePoints
from assay.model import Model, ModelReference, package_version
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.store import Store
from assay.text import named


class Engines:
    """The engines of one model: one for single structures and, if the model supports batches, two that use them.

    `start_seconds` is the CPU time that a worker process had used when it had loaded the model (s).
    """

    def __init__(self, model: Model, folder: Path | None = None, start_seconds: float = 0.0) -> None:
        self.start_seconds = start_seconds
        self.single = CalculatorEngine(model, folder)
        self.batched = BatchedEngine(self.single) if model.build_batch is not None else None
        self.sampled = SampledEngine(self.batched.pool) if self.batched is not None else None

    def run_alone(self, key: str, job: Job) -> Outcome:
        """Run a job that shares no batch with others."""
        if self.sampled is not None and isinstance(job, SinglePoints) and job.sample:
            return self.sampled.run(key, job)
        return self.single.run(key, job)


@dataclass
class Worker:
    """The model and the store of this worker process. The model is loaded when the first bundle arrives."""

    reference: ModelReference
    store: Store
    engines: Engines | None = None

    def run(self, bundle: Bundle) -> str:
        """Run the jobs of a bundle. Returns why that was not possible; any error is data here, even SystemExit."""
        try:
            if self.engines is None:
                self.engines = Engines(load_model(self.reference), self.store.folder, cpu_seconds())
            run_jobs(self.engines, store_of(bundle, self.store), bundle.jobs)
        except BaseException as error:
            return named(error)
        return ""


def work(pipe: Connection, answers: c_uint64, parent: int, reference: ModelReference, folder: str) -> None:
    """The program of a worker process: run bundles that arrive in a pipe, until the pipe is closed.

    For each bundle it sends back the reason if the bundle could not be run, and the CPU seconds that this process has
    used so far. The outcomes are in the store.

    Args:
        pipe: where bundles come from.
        answers: the number of answers of the model so far, which the parent can read.
        parent: process id of the parent.
        reference: how to load the model.
        folder: the results folder of the model.
    """
    prepare_process(parent, folder)
    share(answers)
    worker = Worker(reference, Store(Path(folder)))
    with suppress(EOFError, BrokenPipeError):
        while True:
            bundle: Bundle = pipe.recv()
            beat()  # the deadline of the bundle counts from now
            pipe.send((worker.run(bundle), cpu_seconds()))


def prepare_process(parent: int, folder: str) -> None:
    """Prepare this worker process.

    The parent process handles Ctrl-C. Text that a model prints goes to a log file, never into the user's output.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(parent)
    threading.Thread(target=_wait_for_parent, daemon=True).start()
    print_to_log(Path(folder) / "logs")


def _wait_for_parent() -> None:
    """End this process when the command that started it was killed, where the system does not do so."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def store_of(bundle: Bundle, usual: Store) -> Store:
    """Where the outcomes of a bundle are written: in its own folder if it has one, else in the `usual` store."""
    return usual if bundle.scratch is None else Store.create(bundle.scratch, "")


def run_jobs(engines: Engines, store: Store, jobs: Sequence[KeyedJob]) -> None:
    """Run jobs and write each outcome as soon as it is finished. Jobs that can share batches run first."""
    finished = set()
    pooled = [(key, job) for key, job in jobs if engines.batched and job.poolable]
    for outcome in engines.batched.run(pooled) if engines.batched and pooled else ():
        _write(engines, store, outcome)
        finished.add(outcome.key)
    for key, job in jobs:
        if key not in finished:
            _write(engines, store, engines.run_alone(key, job))


def _write(engines: Engines, store: Store, outcome: Outcome) -> None:
    """Write an outcome to the store, with the machine, the packages and the settings that computed it."""
    machine = {
        **_environment(),
        **engines.single.used,
        "peak_memory_mb": round(peak_megabytes_since_start(), 1),
        "start_seconds": round(engines.start_seconds, 3),
    }
    provenance = {**outcome.provenance, **machine}
    store.append(replace(outcome, provenance=provenance))
    beat()


@cache
def _environment() -> Mapping[str, object]:
    from assay import __version__

    versions = {name: package_version(name) for name in ("ase", "numpy")}
    return {"assay": __version__, **versions, "python": platform.python_version()}
