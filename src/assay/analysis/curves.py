"""The shape of a pair curve E(r): extrema, inflections, monotony, holes, and the constants of the bond in it.

Distances r (Å) rise on an even grid; energies E are in eV; forces f (eV/Å) are along the bond, positive if repulsive.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from assay.analysis.correlation import spearman
from assay.structure import Floats

FIT_POINTS = 7
"""Points of the polynomial through the bottom of a well: on a 0.06 Å grid N2's wavenumber comes out within 1 cm⁻¹."""

RESOLVED = 0.05
"""Two quadratures of the force agree this well, relative to the force, where the grid resolves the curve."""

FORCE_SCALE = 1.0
"""Force (eV/Å) that is added to the scale of a relative difference, so that rounding in flat places does not count."""


HOLE_DEPTH = 0.1
"""A fall of the energy (eV) on the way in that is called a hole."""


class Bond(NamedTuple):
    """The bottom of a well: where (Å), how far below the end of the curve (eV), and its curvature (eV/Å²)."""

    length: float
    depth: float
    stiffness: float


def sign_changes(values: Floats, floor: float) -> int:
    """How often the sign changes between neighbours, once values of at most `floor` in size are dropped."""
    signs = np.sign(values[np.abs(values) > floor])
    return int(np.count_nonzero(signs[1:] != signs[:-1]))


def minima(energy: Floats, prominence: float = 0.1) -> int:
    """How many minima lie inside the curve, each at least `prominence` (eV) deep and a grid step wide."""
    from scipy.signal import find_peaks

    return len(find_peaks(-energy, prominence=prominence, width=1)[0])


def inflections(distance: Floats, energy: Floats, floor: float = 0.5) -> int:
    """Sign changes of E'' from two rounds of differences on the grid; up to `floor` (eV/Å²) it counts as zero."""
    return sign_changes(np.gradient(np.gradient(energy, distance), distance), floor)


def tail_start(energy: Floats, force: Floats, noise: float, zero: float = 1e-10) -> int:
    """Index where the curve ends: the first point of a tail in which the atoms no longer feel each other, else the
    last point.

    A point belongs to the tail if its force is exactly zero (below `zero`, eV/Å), its energy is within `noise` (eV)
    of the last one, and the same is true of all points beyond. Energies there differ by rounding alone, and their
    order says nothing about the model; what such a tail says, that the curve has reached its end, its first point
    says as well. The condition on the energy keeps a model whose forces are all zero from having nothing but a tail.
    """
    flat = (np.abs(force) < zero) & (np.abs(energy - energy[-1]) <= noise)
    bent = np.flatnonzero(~flat)
    return min(int(bent[-1]) + 1 if len(bent) else 0, len(energy) - 1)


def sides(energy: Floats, force: Floats, noise: float) -> tuple[slice, slice]:
    """The wall, up to the lowest point, and the rise from it to the end; the lowest point belongs to both.

    Of a tail (see `tail_start`) only the first point counts: a curve that is lowest somewhere in its tail has no rise.
    """
    end = tail_start(energy, force, noise)
    lowest = min(int(np.argmin(energy)), end)
    return slice(0, lowest + 1), slice(lowest, end + 1)


def force_energy_gap(distance: Floats, energy: Floats, force: Floats) -> float | None:
    """Largest relative difference between the force and −dE/dr: 0 if they agree, near 1 if they contradict.

    Both are averaged over two grid steps, −ΔE/Δr for the energy and Simpson's rule for the force, because an average
    is exact where a difference quotient is not. The difference is divided by the sum of both sizes and 1 eV/Å. Steps
    over which Simpson's rule and the trapezoid disagree, such as a steep wall, are left out; None if all are.
    """
    left, middle, right = force[:-2], force[1:-1], force[2:]
    simpson, trapezoid = (left + 4.0 * middle + right) / 6.0, (left + 2.0 * middle + right) / 4.0
    slope = -(energy[2:] - energy[:-2]) / (distance[2:] - distance[:-2])
    resolved = np.abs(simpson - trapezoid) <= RESOLVED * (np.abs(simpson) + FORCE_SCALE)
    gap = np.abs(simpson - slope) / (np.abs(simpson) + np.abs(slope) + FORCE_SCALE)
    return float(gap[resolved].max()) if resolved.any() else None


def inward_drop(distance: Floats, energy: Floats, reach: float) -> float:
    """How far (eV) the energy falls on the way in from `reach` (Å), below the highest value it had on that way."""
    inward = energy[distance <= reach][::-1]
    return float(np.max(np.maximum.accumulate(inward) - inward)) if len(inward) else 0.0


def bond(distance: Floats, energy: Floats, near: float) -> Bond | None:
    """The well whose bottom is nearest to a distance (Å), from a polynomial through seven points; None without one."""
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
    flat = shape.deriv().roots()
    places = np.real(flat[(np.abs(np.imag(flat)) < 1e-9) & (np.abs(flat) <= 1.0)])
    places = places[shape.deriv(2)(places) > 0.0]
    if not len(places):
        return None
    place = float(places[np.argmin(shape(places))])
    return Bond(
        float(distance[lowest] + step * place), float(energy[-1] - shape(place)), float(shape.deriv(2)(place) / step**2)
    )


def wavenumber(stiffness: float, reduced_mass: float) -> float:
    """Harmonic wavenumber (cm⁻¹) of a bond from its curvature (eV/Å²) and reduced mass (u)."""
    electronvolt, dalton, light = 1.602176634e-19, 1.66053906660e-27, 2.99792458e10  # J, kg, cm/s
    return sqrt(stiffness * electronvolt * 1e20 / (reduced_mass * dalton)) / (2.0 * pi * light)


def pair_shape(
    distance: Floats, energy: Floats, force: Floats, noise: float, reach: float, no_force: float
) -> tuple[dict[str, float], int]:
    """Metrics of a pair curve that need no measured molecule, and the index of its lowest point.

    `noise` (eV) is that of the energy, `no_force` (eV/Å) counts as zero, and holes are looked for within `reach` (Å).
    """
    wall, rise = sides(energy, force, noise)
    values = {
        "force_flips": float(sign_changes(force, no_force)),
        "energy_minima": float(minima(energy)),
        "energy_inflections": float(inflections(distance, energy)),
        "spearman_repulsion": (spearman(distance[wall], energy[wall]) or 0.0) if wall.stop > 1 else 1.0,
        "short_range_hole": float(inward_drop(distance, energy, reach) > HOLE_DEPTH),
    }
    if rise.stop - rise.start > 1:
        values["spearman_attraction"] = spearman(distance[rise], energy[rise]) or 0.0
    gap = force_energy_gap(distance, energy, force)
    return values if gap is None else {**values, "force_energy_gap": gap}, rise.start
