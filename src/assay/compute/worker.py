"""What runs inside a worker process: load the model once, run bundles of jobs, write each outcome as it is done."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from assay.compute.engines.batch_size import peak_megabytes_since_start
from assay.compute.engines.batched import BatchedEngine
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import AssayError
from assay.jobs import Job
from assay.model import Model, ModelReference, package_version
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.store import Store

Bundle = Sequence[tuple[str, Job]]

_here: dict[str, Any] = {}


def prepare_process(reference: ModelReference, folder: str) -> None:
    """Set a worker up for one model and one results folder.

    Ctrl-C is the parent's business, and what a model prints goes to a log, never into the user's output.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    logs = Path(folder) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = os.open(logs / f"{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    _here.update(reference=reference, store=Store(Path(folder)))


def _leave_with_parent() -> None:
    """End this process when the command that started it was killed: nobody would know of its work, or stop it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_bundle(bundle: Bundle) -> list[tuple[str, str]]:
    """Run jobs in this process; returns key and status of each, the outcomes are in the store."""
    store = _here.get("store")
    if not isinstance(store, Store):
        raise AssayError("a worker was used before it was prepared")
    engines = _here.get("engines") or Engines(load_model(_here["reference"]), store.folder)
    _here["engines"] = engines
    return run_jobs(engines, store, bundle)


class Engines:
    """The engines of one model: one structure at a time, and, where the model can, many in one call."""

    def __init__(self, model: Model, folder: Path | None = None) -> None:
        self.single = CalculatorEngine(model, folder)
        self.batched = BatchedEngine(self.single) if model.build_batch is not None else None


def run_jobs(engines: Engines, store: Store, bundle: Bundle) -> list[tuple[str, str]]:
    """Run jobs and write each outcome as soon as it is there; jobs that can share batches are done first."""
    done = []
    pooled = [(key, job) for key, job in bundle if engines.batched and job.poolable]
    for outcome in engines.batched.run(pooled) if engines.batched and pooled else ():
        done.append(_write(engines, store, outcome))
    finished = {key for key, _ in done}
    for key, job in bundle:
        if key not in finished:
            done.append(_write(engines, store, engines.single.run(key, job)))
    return done


def _write(engines: Engines, store: Store, outcome: Outcome) -> tuple[str, str]:
    """Keep an outcome with where and how it was computed."""
    machine = {**_environment(), **engines.single.used, "peak_memory_mb": round(peak_megabytes_since_start(), 1)}
    provenance = {**outcome.provenance, **machine}
    store.append(replace(outcome, provenance=provenance))
    return outcome.key, outcome.status


@cache
def _environment() -> Mapping[str, object]:
    from assay import __version__

    versions = {name: package_version(name) for name in ("ase", "numpy")}
    return {"assay": __version__, **versions, "python": platform.python_version()}
