"""The five kinds of jobs that a benchmark can declare. A job describes what to compute, not how.

Jobs are plain data: two benchmarks with the same job share its outcome. The outcome is stored under a key, which is the
hash of the job and of the model's fingerprint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np

from assay.structure import Structure

Data = Mapping[str, Any]
"""Plain data for the store: numbers, text, lists, tables and arrays."""

USUAL_STEPS = 60
"""Steps of a typical minimisation, for estimates of time; deadlines use the largest number of steps."""


@dataclass(frozen=True, eq=False)
class SinglePoints:
    """Energy (eV), forces (eV/Å) and, if requested, stress (eV/Å³) of each structure; no atom moves.

    With `alone` the structures are evaluated by the calculator, one at a time, as checks of the calculator need it.
    Otherwise structures of many jobs may share a batch, if the model supports batches.

    `sample` are the numbers of structures that the calculator must compute where all differ little from the first of
    them. If the changes from there are the same in a batch, the batch computes the others.
    """

    structures: tuple[Structure, ...]
    properties: tuple[str, ...] = ("energy", "forces")
    alone: bool = False
    sample: tuple[int, ...] = ()

    @property
    def force_calls(self) -> int:
        """Number of evaluations."""
        return len(self.structures)

    @property
    def expected_calls(self) -> int:
        """The same number, because all structures are evaluated."""
        return self.force_calls

    @property
    def poolable(self) -> bool:
        """True if the structures may share a batch with those of other jobs."""
        return not self.alone and "stress" not in self.properties


@dataclass(frozen=True, eq=False)
class Probe:
    """A test that needs the running model: is it reproducible, does it leak memory, does it work in threads?

    `name` is a module of `assay.compute.probes`; `settings` are its parameters.
    """

    name: str
    structures: tuple[Structure, ...] = ()
    settings: Data = field(default_factory=dict)
    force_calls: int = 1
    calculators: int = 0
    """Calculators that the probe builds for itself."""

    processes: int = 0
    """Processes that the probe starts, each with a calculator of its own."""

    from_batches: int = 0
    """How many of the evaluations come from batches if the model supports them."""

    poolable: ClassVar[bool] = False

    @property
    def expected_calls(self) -> int:
        """The number of evaluations that the benchmark states."""
        return self.force_calls


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Minimise the energy from a structure until the largest force on an atom is below `force_limit` (eV/Å).

    `optimizer` is "bfgs", "fire" or "fire-bfgs"; a step moves an atom by at most `max_step` (Å). The cell is fixed.
    """

    structure: Structure
    optimizer: str = "bfgs"
    force_limit: float = 0.01
    steps: int = 500
    max_step: float = 0.2
    poolable: ClassVar[bool] = True

    @property
    def force_calls(self) -> int:
        """The largest possible number of evaluations."""
        return self.steps + 1

    @property
    def expected_calls(self) -> int:
        """The number of evaluations for a small molecule."""
        return min(self.force_calls, USUAL_STEPS)


@dataclass(frozen=True)
class Watch:
    """A quantity (Å) to watch in a run: the "distance" of two atoms, or the deviation of atoms from a "plane".

    The other fields are what the standard error of its averages depends on: the length from which deviations are
    measured, the expected fluctuation (both in Å), and whether the start of the run is left out.
    """

    kind: str
    atoms: tuple[int, ...]
    reference: float = 0.0
    expected: float = 1.0
    drop_start: bool = True


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Molecular dynamics: `steps` of `timestep` (fs), a frame every `interval` steps and one at the start.

    `ensemble` is "nve", "nvt" (Langevin with `friction` in 1/ps) or "npt" (the same, with a Monte Carlo change of the
    volume every `volume_interval` steps at `pressure` in bar). With `until_error` (Å) the run ends as soon as the
    standard errors of the averages of all quantities in `watch` are below it, as they will be reported.
    """

    structure: Structure
    ensemble: str = "nvt"
    temperature: float = 300.0
    timestep: float = 1.0
    steps: int = 1000
    interval: int = 10
    seed: int = 0
    friction: float = 2.0
    pressure: float = 1.01325
    volume_interval: int = 25
    watch: tuple[Watch, ...] = ()
    until_error: float | None = None
    poolable: ClassVar[bool] = True

    @property
    def force_calls(self) -> int:
        """One evaluation for each step, one at the start, and one for each change of volume."""
        return 1 + self.steps + (self.steps // self.volume_interval if self.ensemble == "npt" else 0)

    @property
    def expected_calls(self) -> int:
        """The same number, because all steps are made."""
        return self.force_calls


@dataclass(frozen=True, eq=False)
class Band:
    """The minimum-energy path between two structures by a nudged elastic band with a climbing image.

    `start` and `end` have the same atoms in the same order. Both are first relaxed to `ends_limit` (eV/Å) in at most
    `ends_steps`, unless `relax_ends` is false. The band has `images` structures, ends included. Its first path comes
    from the image-dependent pair potential and goes through the structure `through`, if there is one. The band moves
    until the largest force on an atom is below `climb_below`; then the highest image climbs to the saddle point, until
    the largest force is below `force_limit` (both in eV/Å). `spring` is in eV/Å².
    """

    start: Structure
    end: Structure
    through: Structure | None = None
    images: int = 9
    force_limit: float = 0.05
    steps: int = 500
    relax_ends: bool = True
    ends_limit: float = 0.02
    ends_steps: int = 200
    spring: float = 0.1
    climb_below: float = 0.5
    optimizer: str = "fire-bfgs"
    max_step: float = 0.2
    poolable: ClassVar[bool] = True

    @property
    def force_calls(self) -> int:
        """The largest possible number of evaluations, including those for the ends."""
        return (self.images - 2) * (self.steps + 1) + 2 * (1 + self.ends_steps * self.relax_ends)

    @property
    def expected_calls(self) -> int:
        """The number of evaluations for a band between two small molecules."""
        return min(self.force_calls, self.images * USUAL_STEPS)


Job = SinglePoints | Probe | Relaxation | Dynamics | Band


def structures_of(job: Job) -> tuple[Structure, ...]:
    """Every structure that a job starts from."""
    match job:
        case SinglePoints() | Probe():
            return job.structures
        case Band():
            return (job.start, job.end, *([job.through] if job.through is not None else []))
        case _:
            return (job.structure,)


def job_key(job: Job, fingerprint: str, settings: Data | None = None) -> str:
    """The key of a job for one model; equal keys mean the same work."""
    parts = [fingerprint.encode()]
    _add(parts, dict(settings or {}))
    _add(parts, job)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:24]


def _add(parts: list[bytes], value: object) -> None:
    """Add the bytes of a value, so that different values give different bytes."""
    if isinstance(value, Structure):  # as any other dataclass, but a run has ten thousands of them
        parts.append(b"Structure")
        for array in (value.numbers, value.positions, value.cell):
            parts += (_array_head(array.shape, array.dtype.str), array.tobytes())
        parts.append(_structure_tail(value.charge, value.spin, *value.pbc))
    elif isinstance(value, np.ndarray):
        parts.append(_array_head(value.shape, value.dtype.str))
        parts.append(value.tobytes())  # in the order of rows, however the array is stored
    elif isinstance(value, tuple | list):
        parts.append(f"list{len(value)}".encode())
        for item in value:
            _add(parts, item)
    elif isinstance(value, Mapping):
        parts.append(f"map{len(value)}".encode())
        for name in sorted(value):
            parts.append(repr(name).encode())
            _add(parts, value[name])
    elif is_dataclass(value):
        kind: type = type(value)
        parts.append(kind.__name__.encode())
        for name in _hashed_fields(kind):
            _add(parts, getattr(value, name))
    else:
        parts.append(f"{type(value).__name__}:{value!r};".encode())


@cache
def _array_head(shape: tuple[int, ...], kind: str) -> bytes:
    return f"array{shape}{kind}".encode()


@lru_cache(maxsize=None, typed=True)
def _structure_tail(charge: object, spin: object, *pbc: object) -> bytes:
    """The bytes of the fields of a structure that are no arrays; `typed`, because 1 and True have other bytes."""
    parts: list[bytes] = []
    for value in (pbc, charge, spin):
        _add(parts, value)
    return b"".join(parts)


NOT_HASHED = {"force_calls", "calculators", "processes", "from_batches", "sample"}
"""Fields of jobs that say what they cost, or the way to the same result, not what they are."""


@cache
def _hashed_fields(kind: type) -> tuple[str, ...]:
    """Fields of a class that are part of a key: all that decide about the result, within rounding."""
    return tuple(item.name for item in fields(kind) if item.name not in NOT_HASHED)
