"""The shape of a pair curve E(r): extrema, inflections, monotonicity, holes, and the constants of the bond.

Distances r (Å) increase on an even grid; energies E are in eV; forces f (eV/Å) are along the bond, positive if
repulsive.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from assay.analysis.correlation import spearman
from assay.structure import Floats

FIT_POINTS = 7
"""Points of the polynomial fit at the minimum of a well: on a 0.06 Å grid, N2's wavenumber is right within 1 cm⁻¹."""

BENT, SOFTER = 0.5, 0.05
"""Curvatures (eV/Å²) up to `BENT` count as zero; in a soft well, those up to the part `SOFTER` of its curvature."""

RESOLVED = 0.05
"""The grid resolves the curve where two quadratures of the force differ by less than this, relative to the force."""

FORCE_SCALE = 1.0
"""Force (eV/Å) added to the denominator of a relative difference, so that rounding has no effect where f is small."""

HOLE_DEPTH = 0.1
"""A hole is a decrease of the energy by more than this (eV) while the atoms approach each other."""


class Bond(NamedTuple):
    """The minimum of a well: distance (Å), depth below the end of the curve (eV), and curvature (eV/Å²)."""

    length: float
    depth: float
    stiffness: float


def sign_changes(values: Floats, floor: float) -> int:
    """Number of sign changes between neighbours, after values with an absolute value up to `floor` are removed."""
    signs = np.sign(values[np.abs(values) > floor])
    return int(np.count_nonzero(signs[1:] != signs[:-1]))


def minima(energy: Floats, prominence: float = 0.1) -> int:
    """Number of minima inside the curve, each at least `prominence` (eV) deep and one grid step wide.

    The depth is counted from the lower of both rims, the width at half the depth. The numbers are those of
    `scipy.signal.find_peaks`, which takes longer to import than most results take to score.
    """
    curve = energy.tolist()
    count = 0
    for bottom in _bottoms(curve):
        left, right = _rim(curve, bottom, -1), _rim(curve, bottom, 1)
        depth = min(curve[left], curve[right]) - curve[bottom]
        if depth >= prominence:
            level = curve[bottom] + 0.5 * depth
            width = _reach(curve, bottom, left, level) + _reach(curve, bottom, right, level)
            count += width >= 1.0
    return count


def _bottoms(curve: list[float]) -> list[int]:
    """Local minima inside the curve; the middle of a flat one."""
    found, start = [], 0
    for i in range(1, len(curve)):
        if curve[i] != curve[start]:
            if start > 0 and curve[start - 1] > curve[start] and curve[i] > curve[start]:
                found.append((start + i - 1) // 2)
            start = i
    return found


def _rim(curve: list[float], bottom: int, step: int) -> int:
    """The highest point on one side of a minimum, before the curve falls below the minimum."""
    rim = i = bottom
    while 0 <= i < len(curve) and curve[i] >= curve[bottom]:
        if curve[i] > curve[rim]:
            rim = i
        i += step
    return rim


def _reach(curve: list[float], bottom: int, rim: int, level: float) -> float:
    """Grid steps from a minimum to where the curve crosses a level, towards one rim."""
    step = 1 if rim > bottom else -1
    i = bottom
    while i != rim and curve[i] < level:
        i += step
    over = (curve[i] - level) / (curve[i] - curve[i - step]) if curve[i] > level else 0.0
    return abs(i - bottom) - over


def curvature(distance: Floats, energy: Floats) -> Floats:
    """Second derivative (eV/Å²) of a curve at each point, from finite differences on the grid."""
    return np.asarray(np.gradient(np.gradient(energy, distance), distance))


def inflections(distance: Floats, energy: Floats, floor: float = BENT) -> int:
    """Number of sign changes of E'', from finite differences on the grid; |E''| up to `floor` (eV/Å²) is zero."""
    return sign_changes(curvature(distance, energy), floor)


def has_soft_inflection(distance: Floats, energy: Floats, lowest: int, rounding: float) -> bool:
    """True for a well so soft that its one inflection is below what `inflections` counts.

    The bond of K2 has a stiffness of 0.6 eV/Å², and beyond its inflection |E''| stays below 0.5. Such an inflection is
    counted down to a twentieth of the curvature at the lowest point, but not below what `rounding` (eV) of the energies
    makes.
    """
    stiffness = float(curvature(distance, energy)[lowest])
    least = 4.0 * rounding / float(distance[1] - distance[0]) ** 2
    floor = max(SOFTER * stiffness, least)
    return 0.0 < floor < BENT and inflections(distance, energy, floor) == 1


def tail_start(energy: Floats, force: Floats, noise: float, zero: float = 1e-10) -> int:
    """Index where the curve ends: the first point of the tail in which the atoms do not interact, else the last point.

    A point belongs to the tail if its force is zero (below `zero`, eV/Å), its energy is within `noise` (eV) of the last
    energy, and the same is true for all points beyond. Energies in the tail differ only by rounding, so their order has
    no meaning, and its first point is enough to represent it. The condition on the energy is needed for a model whose
    forces are all zero: without it, the whole curve would be tail.
    """
    flat = (np.abs(force) < zero) & (np.abs(energy - energy[-1]) <= noise)
    not_flat = np.flatnonzero(~flat)
    return min(int(not_flat[-1]) + 1 if len(not_flat) else 0, len(energy) - 1)


def sides(energy: Floats, force: Floats, noise: float) -> tuple[slice, slice]:
    """The repulsive part, up to the lowest point, and the attractive part, from it to the end.

    The lowest point belongs to both. Only the first point of the tail counts (see `tail_start`): a curve whose lowest
    point is in its tail has no attractive part.
    """
    end = tail_start(energy, force, noise)
    lowest = min(int(np.argmin(energy)), end)
    return slice(0, lowest + 1), slice(lowest, end + 1)


def force_energy_gap(distance: Floats, energy: Floats, force: Floats) -> float | None:
    """Largest relative difference between the force and −dE/dr: 0 if they agree, near 1 if they contradict each other.

    Both are averages over two grid steps, −ΔE/Δr for the energy and Simpson's rule for the force, because the average
    has no error from a finite step. The difference is divided by the sum of both absolute values and 1 eV/Å. Steps
    over which Simpson's rule and the trapezoidal rule disagree, as on a steep wall, are left out; None if all are.
    """
    left, middle, right = force[:-2], force[1:-1], force[2:]
    simpson, trapezoid = (left + 4.0 * middle + right) / 6.0, (left + 2.0 * middle + right) / 4.0
    slope = -(energy[2:] - energy[:-2]) / (distance[2:] - distance[:-2])
    even = np.isclose(distance[2:] - distance[1:-1], distance[1:-1] - distance[:-2])  # no point is missing between
    resolved = even & (np.abs(simpson - trapezoid) <= RESOLVED * (np.abs(simpson) + FORCE_SCALE))
    gap = np.abs(simpson - slope) / (np.abs(simpson) + np.abs(slope) + FORCE_SCALE)
    return float(gap[resolved].max()) if resolved.any() else None


def inward_drop(distance: Floats, energy: Floats, reach: float) -> float:
    """Largest decrease of the energy (eV) below an earlier maximum while the distance decreases from `reach` (Å)."""
    inward = energy[distance <= reach][::-1]
    return float(np.max(np.maximum.accumulate(inward) - inward)) if len(inward) else 0.0


def bond(distance: Floats, energy: Floats, near: float) -> Bond | None:
    """The well whose minimum is nearest to a distance (Å), from a fit to seven points; None without a well."""
    inner = energy[1:-1]
    wells = 1 + np.flatnonzero((inner < energy[:-2]) & (inner <= energy[2:]))
    if not len(wells) or len(energy) < FIT_POINTS:
        return None
    lowest = int(wells[np.argmin(np.abs(distance[wells] - near))])
    start = min(max(lowest - FIT_POINTS // 2, 0), len(energy) - FIT_POINTS)
    window, step = slice(start, start + FIT_POINTS), distance[1] - distance[0]
    shape = np.polynomial.Polynomial.fit(
        (distance[window] - distance[lowest]) / step, energy[window], FIT_POINTS - 1, domain=[-1.0, 1.0]
    )
    stationary = shape.deriv().roots()
    roots = np.real(stationary[(np.abs(np.imag(stationary)) < 1e-9) & (np.abs(stationary) <= 1.0)])
    roots = roots[shape.deriv(2)(roots) > 0.0]
    if not len(roots):
        return None
    root = float(roots[np.argmin(shape(roots))])
    return Bond(
        float(distance[lowest] + step * root), float(energy[-1] - shape(root)), float(shape.deriv(2)(root) / step**2)
    )


def wavenumber(stiffness: float, reduced_mass: float) -> float:
    """Harmonic wavenumber (cm⁻¹) of a bond from its curvature (eV/Å²) and reduced mass (u)."""
    electronvolt, dalton, light = 1.602176634e-19, 1.66053906660e-27, 2.99792458e10  # J, kg, cm/s
    return sqrt(stiffness * electronvolt * 1e20 / (reduced_mass * dalton)) / (2.0 * pi * light)


def pair_shape(
    distance: Floats, energy: Floats, force: Floats, noise: float, reach: float, no_force: float
) -> tuple[dict[str, float], int]:
    """Metrics of a pair curve that need no reference data, and the index of its lowest point.

    `noise` (eV) is the noise of the energy, forces up to `no_force` (eV/Å) are zero, and holes are searched within
    `reach` (Å). A curve that rises nowhere beyond its lowest point by more than the noise has no
    `spearman_attraction`.
    """
    wall, rise = sides(energy, force, noise)
    lowest = rise.start
    values = {
        "force_flips": float(sign_changes(force, no_force)),
        "energy_minima": float(minima(energy)),
        "energy_inflections": float(inflections(distance, energy)),
        "spearman_repulsion": (spearman(distance[wall], energy[wall]) or 0.0) if wall.stop > 1 else 1.0,
        "short_range_hole": float(inward_drop(distance, energy, reach) > HOLE_DEPTH),
    }
    if energy[rise].max() - energy[lowest] > noise:
        values["spearman_attraction"] = spearman(distance[rise], energy[rise]) or 0.0
    gap = force_energy_gap(distance, energy, force)
    return values if gap is None else {**values, "force_energy_gap": gap}, lowest
