"""How far other atoms act on a molecule: the change of its forces (meV/Å) when atoms are placed around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.analysis.blocks import Average
from assay.outcome import Point
from assay.structure import Floats


def force_changes(alone: Point, points: Sequence[Point]) -> Floats:
    """|ΔF| (meV/Å) of each atom of the molecule at each point, shape (points, atoms)."""
    count = len(alone.forces)
    return np.array([1e3 * np.linalg.norm(p.forces[:count] - alone.forces, axis=1) for p in points])


def unfelt(alone: Point, far: Point, close: Sequence[Point], limits: Mapping[str, float]) -> str:
    """What does not change when an atom comes from far away into contact: "energy", "force", or "" if both change.

    `limits` are the changes (meV and meV/Å) that count as none.
    """
    changes = {"force": float(force_changes(alone, close).max())}
    changes["energy"] = max(1e3 * abs(p.energy - far.energy) for p in close)
    return next((kind for kind, size in changes.items() if size <= limits[kind]), "")


def largest_change(changes: Floats) -> dict[str, Average]:
    """The largest change (`max`); its error is that of the mean of the largest changes of all arrangements."""
    largest = changes.max(axis=1)
    error = float(largest.std(ddof=1) / np.sqrt(len(largest)))
    return {"max": Average(float(largest.max()), error, len(largest))}


def mean_change(changes: Floats) -> dict[str, Average]:
    """The mean change over the atoms: its mean and population standard deviation over the positions."""
    means, count = changes.mean(axis=1), len(changes)
    mean, std = float(means.mean()), float(means.std())
    return {
        "mean": Average(mean, std / count**0.5, count),
        "std": Average(std, std / (2.0 * (count - 1)) ** 0.5, count),
    }


def ranges_of(
    grids: Mapping[str, Sequence[float]], forces: Floats, energies: Floats, felt: float
) -> tuple[dict[str, dict[str, Floats]], dict[str, float]]:
    """For each kind of atom: its curve, and the largest distance (Å) at which it changes a force by more than `felt`.

    `forces` and `felt` are in meV/Å, `energies` in eV; both series list the grids of distances (Å) one after the other.
    """
    curves: dict[str, dict[str, Floats]] = {}
    ranges, start = {}, 0
    for probe, grid in grids.items():
        part = slice(start, start + len(grid))
        distance, force, energy = np.asarray(grid), forces[part], energies[part]
        curves[probe] = {"distance": distance, "force": force, "energy": 1e3 * (energy - energy[-1])}
        ranges[probe] = float(distance[force > felt].max(initial=0.0))
        start = part.stop
    return curves, ranges
