"""Deviations of repeated evaluations from the first result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.outcome import Point
from assay.structure import Floats


def deviation(reference: Sequence[Point], trial: Sequence[Point]) -> tuple[Floats, Floats]:
    """|ΔE| (eV) and the largest |ΔF| component (eV/Å) of each structure."""
    pairs = list(zip(reference, trial, strict=True))
    energy = np.array([abs(a.energy - b.energy) for a, b in pairs])
    forces = np.array([np.abs(a.forces - b.forces).max() for a, b in pairs])
    return energy, forces


def worst_deviation(reference: Sequence[Point], trials: Sequence[Sequence[Point]]) -> dict[str, object]:
    """The largest deviation of each structure over all trials, and the sizes of its energy (eV) and forces (eV/Å)."""
    deviations = [deviation(reference, trial) for trial in trials]
    return {
        "natoms": np.array([len(p.forces) for p in reference]),
        "scale": np.array([abs(p.energy) for p in reference]),
        "max_force": np.array([np.abs(p.forces).max() for p in reference]),
        "energy": np.max([e for e, _ in deviations], axis=0),
        "forces": np.max([f for _, f in deviations], axis=0),
    }
