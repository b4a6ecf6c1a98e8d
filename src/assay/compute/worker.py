"""The program of a worker process: load the model once, run bundles of jobs, write each outcome when it is finished."""

from __future__ import annotations

import os
import platform
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import parent_process
from pathlib import Path

from assay.compute.engines.batch_size import peak_megabytes_since_start
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.executors.base import Bundle, KeyedJob
from assay.compute.logs import print_to_log
from assay.errors import AssayError
from assay.model import Model, ModelReference, package_version
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.store import Store


class Engines:
    """The engines of one model: one for single structures and, if the model supports batches, one for batches."""

    def __init__(self, model: Model, folder: Path | None = None) -> None:
        self.single = CalculatorEngine(model, folder)
        self.batched = BatchedEngine(self.single) if model.build_batch is not None else None


@dataclass
class Worker:
    """The model and the store of this worker process. The model is loaded when the first bundle arrives."""

    reference: ModelReference
    store: Store
    engines: Engines | None = None

    def run(self, bundle: Bundle) -> list[tuple[str, str]]:
        """Run the jobs of a bundle; returns the key and the status of each."""
        if self.engines is None:
            self.engines = Engines(load_model(self.reference), self.store.folder)
        return run_jobs(self.engines, store_of(bundle, self.store), bundle.jobs)


_worker: Worker | None = None
"""The one worker of this process. A pool sends only functions and arguments, so the model must be kept here."""


def prepare_process(reference: ModelReference, folder: str) -> None:
    """Prepare this worker process for one model and one results folder.

    The parent process handles Ctrl-C. Text that a model prints goes to a log file, never into the user's output.
    """
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    print_to_log(Path(folder) / "logs")
    _worker = Worker(reference, Store(Path(folder)))


def _end_with_parent() -> None:
    """End this process when the command that started it was killed: nobody would use its results or stop it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_bundle(bundle: Bundle) -> list[tuple[str, str]]:
    """Run a bundle in this worker process; returns the key and the status of each job, outcomes are in the store."""
    if _worker is None:
        raise AssayError("a worker was used before it was prepared")
    return _worker.run(bundle)


def store_of(bundle: Bundle, usual: Store) -> Store:
    """Where the outcomes of a bundle are written: in its own folder if it has one, else in the `usual` store."""
    return usual if bundle.scratch is None else Store.create(bundle.scratch, "")


def run_jobs(engines: Engines, store: Store, jobs: Sequence[KeyedJob]) -> list[tuple[str, str]]:
    """Run jobs and write each outcome as soon as it is finished. Jobs that can share batches run first."""
    done = []
    pooled = [(key, job) for key, job in jobs if engines.batched and job.poolable]
    for outcome in engines.batched.run(pooled) if engines.batched and pooled else ():
        done.append(_write(engines, store, outcome))
    finished = {key for key, _ in done}
    for key, job in jobs:
        if key not in finished:
            done.append(_write(engines, store, engines.single.run(key, job)))
    return done


def _write(engines: Engines, store: Store, outcome: Outcome) -> tuple[str, str]:
    """Write an outcome to the store, with the machine, the packages and the settings that computed it."""
    machine = {**_environment(), **engines.single.used, "peak_memory_mb": round(peak_megabytes_since_start(), 1)}
    provenance = {**outcome.provenance, **machine}
    store.append(replace(outcome, provenance=provenance))
    return outcome.key, outcome.status


@cache
def _environment() -> Mapping[str, object]:
    from assay import __version__

    versions = {name: package_version(name) for name in ("ase", "numpy")}
    return {"assay": __version__, **versions, "python": platform.python_version()}
