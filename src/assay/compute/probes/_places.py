"""Places on a path, and what their energies and forces say: the depth of a well, a roughness, a jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.structure import Floats

RELATIVE = 1e-3
"""A deviation of the force below this fraction of the force is ignored, which saves evaluations on steep walls."""

ENERGY_ULPS, FORCE_ULPS = 4.0, 64.0
"""Rounding of energies and of forces (which are sums of larger terms), in units of the precision of the model."""

RELATIVE_ENERGY = 3e-5
"""A deviation of the energy below this fraction of the work of the force over the interval is ignored."""


@dataclass(frozen=True)
class Place:
    """Energy (eV), force along the path and all forces (eV/Å) at one position (Å) on the path."""

    at: float
    energy: float
    along: float
    forces: Floats


def curve_of(places: list[Place]) -> tuple[Floats, Floats, Floats]:
    """Positions (Å), energies (eV) and forces along the path (eV/Å)."""
    at, energy, along = (np.array([getattr(p, name) for p in places]) for name in ("at", "energy", "along"))
    return at, energy, along


def barrier_height(places: list[Place]) -> float:
    """Difference between the largest and the smallest energy (eV), at most 1 eV."""
    energies = [p.energy for p in places]
    return float(np.clip(max(energies) - min(energies), 1e-6, 1.0))


def well_depth(places: list[Place]) -> float:
    """Depth of the well below the far end, at most 1 eV; for a repulsive curve, the height at a third of the path."""
    far = places[-1].energy
    depth = max(far - min(p.energy for p in places), 0.0)
    if depth <= 0.0:
        depth = abs(places[len(places) // 3].energy - far)
    return float(np.clip(depth, 1e-6, 1.0))


def forces_match_energy(places: list[Place]) -> bool:
    """True if the energy changes along the path as the forces predict; only then do forces help to find its jumps."""
    at, energy, along = curve_of(places)
    changes, work = np.diff(energy), 0.5 * (along[1:] + along[:-1]) * np.diff(at)
    moving = np.abs(changes) > 1e-6
    return bool(moving.any() and np.median(np.abs(changes + work)[moving] / np.abs(changes)[moving]) < 0.2)


def with_rounding(a: Place, b: Place, energy: float, force: float, epsilon: float) -> tuple[float, float]:
    """Limits of energy (eV) and force (eV/Å) plus rounding errors: a deviation below them is ignored."""
    size = max(np.abs(a.forces).max(), np.abs(b.forces).max())
    return energy + ENERGY_ULPS * epsilon * abs(a.energy), force + FORCE_ULPS * epsilon * (1.0 + float(size))


def roughness_of(a: Place, middle: Place, b: Place, energy_limit: float, force_limit: float, relative: float) -> float:
    """Deviation of the midpoint from a smooth curve through the ends, in units of the limits."""
    width = b.at - a.at
    expected = 0.5 * (a.energy + b.energy) + width / 8.0 * (b.along - a.along)
    size = max(np.abs(a.forces).max(), np.abs(b.forces).max())
    # The energy difference is included, because otherwise a model without forces would look rough.
    work = max(size * width, abs(b.energy - a.energy))
    energy = abs(middle.energy - expected) / (energy_limit + relative * work)
    forces = np.abs(middle.forces - 0.5 * (a.forces + b.forces)).max() / (force_limit + RELATIVE * size)
    return float(max(energy, forces))


def jump_between(a: Place, b: Place) -> dict[str, float]:
    """Size of the jump of energy (eV) and force (eV/Å); the change of a smooth curve is subtracted from the energy."""
    smooth = 0.5 * (b.at - a.at) * (abs(a.along) + abs(b.along))
    return {
        "at": 0.5 * (a.at + b.at),
        "energy": max(0.0, abs(b.energy - a.energy) - smooth),
        "force": float(np.abs(b.forces - a.forces).max()),
        "size": float(max(np.abs(a.forces).max(), np.abs(b.forces).max())),
    }
