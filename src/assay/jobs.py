"""The five kinds of computing that a benchmark may ask for. A job says what to compute, never how.

Jobs are plain data: two benchmarks that ask for the same job share its outcome, and the hash of a job together with
the model's fingerprint is the key under which the outcome is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass

import numpy as np

from assay.codec import Data
from assay.structure import Structure


@dataclass(frozen=True, eq=False)
class SinglePoints:
    """Energy (eV), forces (eV/Å) and, when asked for, stress (eV/Å³) of each structure, nothing moved.

    `alone` asks the calculator itself, one structure after another, as a check of that calculator must; otherwise
    structures of many jobs may be evaluated in one batch where the model can.
    """

    structures: tuple[Structure, ...]
    properties: tuple[str, ...] = ("energy", "forces")
    alone: bool = False

    @property
    def force_calls(self) -> int:
        """How many evaluations the model is asked for."""
        return len(self.structures)

    @property
    def poolable(self) -> bool:
        """True when the structures may share a batch with those of other jobs."""
        return not self.alone and "stress" not in self.properties


@dataclass(frozen=True, eq=False)
class Probe:
    """A question that needs the running model itself: does it repeat, leak, answer from threads?

    `name` is a module of `assay.probes`; `settings` are its parameters.
    """

    name: str
    structures: tuple[Structure, ...] = ()
    settings: Data = field(default_factory=dict)
    force_calls: int = 1


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Minimise the energy from a structure until the largest force is below `force_limit` (eV/Å)."""

    structure: Structure
    optimizer: str = "bfgs"
    force_limit: float = 0.01
    steps: int = 500

    @property
    def force_calls(self) -> int:
        """The most evaluations the minimisation may take."""
        return self.steps


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Molecular dynamics: `steps` of `timestep` (fs) in an ensemble, a frame every `interval` steps."""

    structure: Structure
    ensemble: str = "nvt"
    temperature: float = 300.0
    timestep: float = 1.0
    steps: int = 1000
    interval: int = 10
    seed: int = 0

    @property
    def force_calls(self) -> int:
        """One evaluation a step."""
        return self.steps


@dataclass(frozen=True, eq=False)
class Band:
    """The minimum-energy path between two structures by a nudged elastic band."""

    start: Structure
    end: Structure
    images: int = 7
    force_limit: float = 0.05
    steps: int = 500

    @property
    def force_calls(self) -> int:
        """The most evaluations the band may take."""
        return self.images * self.steps


Job = SinglePoints | Probe | Relaxation | Dynamics | Band


def structures_of(job: Job) -> tuple[Structure, ...]:
    """Every structure that a job starts from."""
    match job:
        case SinglePoints() | Probe():
            return job.structures
        case Band():
            return (job.start, job.end)
        case _:
            return (job.structure,)


def job_key(job: Job, fingerprint: str, settings: Data | None = None) -> str:
    """The name of this piece of work for this model: the same key means the same work."""
    digest = hashlib.sha256(fingerprint.encode())
    _feed(digest, dict(settings or {}))
    _feed(digest, job)
    return digest.hexdigest()[:24]


def _feed(digest: hashlib._Hash, value: object) -> None:
    """Add a value to a hash such that different values give different bytes."""
    if isinstance(value, np.ndarray):
        digest.update(f"array{value.shape}{value.dtype.str}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        digest.update(type(value).__name__.encode())
        for item in fields(value):
            if item.name == "force_calls":  # an estimate of cost, not part of the work
                continue
            _feed(digest, getattr(value, item.name))
    elif isinstance(value, Mapping):
        digest.update(f"map{len(value)}".encode())
        for name in sorted(value):
            digest.update(repr(name).encode())
            _feed(digest, value[name])
    elif isinstance(value, tuple | list):
        digest.update(f"list{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())
