"""The outcome of a job: one of four statuses, the values, the reason, and the provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import AssayError, Cause, ModelFailure
from assay.jobs import Data
from assay.structure import Floats

if TYPE_CHECKING:
    from assay.store.trajectory import Trajectory

OK, FAILED, UNSUPPORTED, ERROR = "ok", "failed", "unsupported", "error"


@dataclass(frozen=True)
class Point:
    """Energy (eV), forces (eV/Å) and stress (eV/Å³, Voigt) of one structure, or the reason why they are missing."""

    energy: float
    forces: Floats
    stress: Floats | None = None
    reason: str = ""
    pbc: str = ""
    """Periodic directions of the atoms that the calculator evaluated, read from these atoms and not from the job."""

    cause: str = Cause.NONE

    @property
    def ok(self) -> bool:
        """True if the model gave finite numbers."""
        return not self.reason


def no_point(atoms: int, reason: str, cause: str = Cause.REFUSED) -> Point:
    """A placeholder for a structure without a usable result of the model."""
    return Point(float("nan"), np.full((atoms, 3), np.nan), None, reason, cause=cause)


@dataclass(frozen=True)
class Outcome:
    """The stored outcome of a job. `cause` is one of `Cause`, and empty if the status is `ok`."""

    key: str
    status: str
    values: Data = field(default_factory=dict)
    reason: str = ""
    traceback: str = ""
    provenance: Data = field(default_factory=dict)
    cause: str = Cause.NONE
    frames: Trajectory | None = field(default=None, compare=False)
    """The trajectory of a `Dynamics` job in the results folder of the outcome."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for one line of the store."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "frames"}

    def trajectory(self) -> Trajectory:
        """The frames of a `Dynamics` job, which are read from disk in chunks."""
        if self.frames is None:
            raise AssayError(f"the trajectory of job '{self.key}' is not in a results folder; run the job again")
        return self.frames

    @property
    def batch(self) -> Data:
        """How the structures of the job were computed in batches, or why not; empty if that was not asked."""
        found = self.provenance.get("batch")
        return found if isinstance(found, dict) else {}

    def points(self) -> list[Point]:
        """The results of a `SinglePoints` job, one for each structure."""
        return list(_unpack(self.values))


def pack_points(points: Sequence[Point], counts: Sequence[int]) -> dict[str, object]:
    """Results of many structures as a few large arrays, which are faster to write than many small ones."""
    bad = {str(i): point for i, point in enumerate(points) if point.reason}
    packed: dict[str, object] = {
        "natoms": np.array(counts, dtype=np.int64),
        "energy": np.array([p.energy for p in points], dtype=float),
        "forces": np.concatenate([p.forces for p in points]) if points else np.zeros((0, 3)),
        "pbc": [p.pbc for p in points],
        "reasons": {place: point.reason for place, point in bad.items()},
        "causes": {place: point.cause for place, point in bad.items()},
    }
    if any(p.stress is not None for p in points):
        packed["stress"] = np.array([np.full(6, np.nan) if p.stress is None else p.stress for p in points])
    return packed


def _unpack(values: Data) -> Iterator[Point]:
    natoms, energy, forces = (np.asarray(values[key]) for key in ("natoms", "energy", "forces"))
    stress = values.get("stress")
    reasons, causes, patterns = values.get("reasons", {}), values.get("causes", {}), values.get("pbc", [])
    if not isinstance(reasons, Mapping) or not isinstance(causes, Mapping) or not isinstance(patterns, list):
        raise ModelFailure("the stored points are damaged", Cause.MALFORMED)
    ends = np.cumsum(natoms)
    for i, (end, count) in enumerate(zip(ends, natoms, strict=True)):
        row = None if stress is None else np.asarray(stress)[i]
        voigt = row if row is not None and bool(np.isfinite(row).all()) else None
        reason, cause = str(reasons.get(str(i), "")), str(causes.get(str(i), ""))
        yield Point(float(energy[i]), forces[end - count : end], voigt, reason, patterns[i], cause)
