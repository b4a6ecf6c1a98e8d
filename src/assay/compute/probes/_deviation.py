"""Deviations of repeated evaluations from the first result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.outcome import Point
from assay.structure import Floats


class Deviation(NamedTuple):
    """|ΔE| (eV) and the largest |ΔF| (eV/Å) and |Δσ| (eV/Å³) of each structure; 0 for a stress that no one gave."""

    energy: Floats
    forces: Floats
    stress: Floats

    def as_dict(self) -> dict[str, Floats]:
        """Plain data for the store."""
        return self._asdict()


def deviation(reference: Sequence[Point], trial: Sequence[Point]) -> Deviation:
    """The largest difference of energy, forces and stress of each structure."""
    pairs = list(zip(reference, trial, strict=True))
    return Deviation(
        np.array([abs(a.energy - b.energy) for a, b in pairs]),
        np.array([np.abs(a.forces - b.forces).max() for a, b in pairs]),
        np.array([_stress_deviation(a, b) for a, b in pairs]),
    )


def _stress_deviation(reference: Point, trial: Point) -> float:
    """The largest difference of a component; infinite if the second evaluation gave no stress and the first did."""
    if reference.stress is None:
        return 0.0
    return float(np.inf if trial.stress is None else np.abs(reference.stress - trial.stress).max())


def worst(*deviations: Deviation) -> Deviation:
    """The largest deviation of each structure over several trials."""
    return Deviation(*(np.max(column, axis=0) for column in zip(*deviations, strict=True)))


def sizes(points: Sequence[Point]) -> dict[str, Floats]:
    """How large energy (eV), forces (eV/Å) and stress (eV/Å³; NaN without one) of each structure are."""
    stresses = [p.stress for p in points]
    return {
        "natoms": np.array([len(p.forces) for p in points]),
        "scale": np.array([abs(p.energy) for p in points]),
        "max_force": np.array([np.abs(p.forces).max() for p in points]),
        "max_stress": np.array([np.nan if s is None else np.abs(s).max() for s in stresses]),
    }


def worst_deviation(reference: Sequence[Point], trials: Sequence[Sequence[Point]]) -> dict[str, object]:
    """The largest deviation of each structure over all trials, and the sizes of its energy, forces and stress."""
    return {**sizes(reference), **worst(*(deviation(reference, trial) for trial in trials)).as_dict()}
