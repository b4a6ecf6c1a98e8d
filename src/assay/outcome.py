"""What came of a job: one of four statuses, the values, the reason, and where and how they were computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.jobs import Data
from assay.structure import Floats

if TYPE_CHECKING:
    from assay.store.trajectory import Trajectory

OK, FAILED, UNSUPPORTED, ERROR = "ok", "failed", "unsupported", "error"


@dataclass(frozen=True)
class Point:
    """Energy (eV), forces (eV/Å) and stress (eV/Å³, Voigt) of one structure, or the reason why there are none."""

    energy: float
    forces: Floats
    stress: Floats | None = None
    reason: str = ""
    pbc: str = ""
    """Periodic directions of the atoms that the calculator was given, read from them, not from the job."""

    @property
    def ok(self) -> bool:
        """True when the model answered with finite numbers."""
        return not self.reason


@dataclass(frozen=True)
class Outcome:
    """The finished job as the store keeps it."""

    key: str
    status: str
    values: Data = field(default_factory=dict)
    reason: str = ""
    traceback: str = ""
    provenance: Data = field(default_factory=dict)
    folder: Path | None = field(default=None, compare=False)
    """The folder of the store that it was read from, where its trajectory lies if it has one."""

    def as_dict(self) -> dict[str, object]:
        """Plain data for one line of the store."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "folder"}

    def trajectory(self) -> Trajectory:
        """The frames of a `Dynamics` job, read from disk piece by piece."""
        from assay.store.trajectory import Trajectory, trajectory_path

        if self.folder is None:
            raise AssayError(f"the trajectory of job '{self.key}' is not in a results folder; run the job again")
        return Trajectory(trajectory_path(self.folder, self.key))

    def points(self) -> list[Point]:
        """The results of a `SinglePoints` job, one for each structure."""
        return list(_unpack(self.values))


def pack_points(points: Sequence[Point], counts: Sequence[int]) -> dict[str, object]:
    """Results of many structures as a few arrays, which cost far less to write than many small ones."""
    reasons = {str(i): point.reason for i, point in enumerate(points) if point.reason}
    packed: dict[str, object] = {
        "natoms": np.array(counts, dtype=np.int64),
        "energy": np.array([p.energy for p in points], dtype=float),
        "forces": np.concatenate([p.forces for p in points]) if points else np.zeros((0, 3)),
        "pbc": [p.pbc for p in points],
        "reasons": reasons,
    }
    if any(p.stress is not None for p in points):
        packed["stress"] = np.array([np.full(6, np.nan) if p.stress is None else p.stress for p in points])
    return packed


def _unpack(values: Data) -> Iterator[Point]:
    natoms, energy, forces = (np.asarray(values[key]) for key in ("natoms", "energy", "forces"))
    stress = values.get("stress")
    reasons, patterns = values.get("reasons", {}), values.get("pbc", [])
    if not isinstance(reasons, Mapping) or not isinstance(patterns, list):
        raise ModelFailure("the stored points are damaged")
    ends = np.cumsum(natoms)
    for i, (end, count) in enumerate(zip(ends, natoms, strict=True)):
        row = None if stress is None else np.asarray(stress)[i]
        known = row if row is not None and bool(np.isfinite(row).all()) else None
        yield Point(float(energy[i]), forces[end - count : end], known, str(reasons.get(str(i), "")), patterns[i])
