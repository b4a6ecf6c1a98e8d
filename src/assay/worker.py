"""What runs inside a worker process: load the model once, run bundles of jobs, write each outcome as it is done."""

from __future__ import annotations

import os
import platform
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from assay.engines.ase import AseEngine
from assay.errors import AssayError
from assay.jobs import Job
from assay.model import Model, ModelReference, load_model, package_version
from assay.outcome import Outcome
from assay.store import Store

Bundle = Sequence[tuple[str, Job]]

_here: dict[str, object] = {}


def prepare_process(reference: ModelReference, folder: str) -> None:
    """Set a worker up for one model and one results folder.

    Ctrl-C is the parent's business, and what a model prints goes to a log, never into the user's output.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs = Path(folder) / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    log = os.open(logs / f"{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    _here.update(reference=reference, store=Store(Path(folder)))


def run_bundle(bundle: Bundle) -> list[tuple[str, str]]:
    """Run jobs one after another in this process; returns key and status of each, the outcomes are in the store."""
    if "engine" not in _here:
        _here["engine"] = AseEngine(load_model(_here["reference"]))
    engine, store = _here["engine"], _here["store"]
    if not isinstance(engine, AseEngine) or not isinstance(store, Store):
        raise AssayError("a worker was used before it was prepared")
    return run_jobs(engine, store, bundle)


def run_jobs(engine: AseEngine, store: Store, bundle: Bundle) -> list[tuple[str, str]]:
    """Run jobs with an engine that is at hand and write each outcome as soon as it is there."""
    done = []
    for key, job in bundle:
        outcome = engine.run(key, job)
        provenance = {
            **outcome.provenance,
            **_environment(),
            "precision": engine.precision,
            "peak_memory_mb": _peak_memory(),
        }
        store.append(Outcome(key, outcome.status, outcome.values, outcome.reason, outcome.traceback, provenance))
        done.append((key, outcome.status))
    return done


def build_check(model: Model) -> None:
    """Build the calculator once, so that a factory that cannot work is one clear sentence."""
    try:
        calculator = model.build()
    except AssayError:
        raise
    except (Exception, SystemExit) as error:
        raise AssayError(f"model '{model.name}' cannot be built: {type(error).__name__}: {error}") from error
    if not hasattr(calculator, "get_potential_energy"):
        raise AssayError(f"model '{model.name}' gives a {type(calculator).__name__}, not an ASE calculator")


@cache
def _environment() -> Mapping[str, object]:
    from assay import __version__

    versions = {name: package_version(name) for name in ("ase", "numpy")}
    return {"assay": __version__, **versions, "python": platform.python_version(), "device": "cpu"}


def _peak_memory() -> float:
    """The most memory that this process has held so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak / 1e3, 1)
