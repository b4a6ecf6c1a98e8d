"""Pair curves with known results: wells, walls, holes, tails, and the constants of the bond."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import constants
from scipy.signal import find_peaks
from scipy.stats import spearmanr

from assay.analysis.correlation import spearman
from assay.analysis.curves import (
    bond,
    force_energy_gap,
    inflections,
    inward_drop,
    minima,
    sides,
    sign_changes,
    tail_start,
    wavenumber,
)
from assay.structure import Floats

GRID = np.linspace(0.18, 6.0, 100)


def morse(depth: float = 4.0, width: float = 2.0, length: float = 1.5) -> tuple[Floats, Floats]:
    """Energy (eV) and force (eV/Å) of a Morse oscillator, zero for free atoms."""
    fade = np.exp(-width * (GRID - length))
    return depth * (fade**2 - 2.0 * fade), 2.0 * depth * width * (fade**2 - fade)


def lennard_jones(epsilon: float = 0.4, sigma: float = 2.3) -> tuple[Floats, Floats]:
    """Energy and force of the 12-6 potential."""
    x = (sigma / GRID) ** 6
    return 4.0 * epsilon * (x**2 - x), 24.0 * epsilon * (2.0 * x**2 - x) / GRID


@pytest.mark.parametrize(
    ("values", "count"),
    [([], 0), ([1.0], 0), ([1, 2, 3], 0), ([1, -1], 1), ([1, -1, 1, -1], 3), ([1, 0.005, -0.01, 2], 0), ([0.0] * 9, 0)],
)
def test_small_values_do_not_count_as_sign_changes(values: list[float], count: int) -> None:
    assert sign_changes(np.array(values, dtype=float), 0.01) == count


def test_a_morse_curve_has_one_minimum_one_inflection_and_one_sign_change_of_the_force() -> None:
    energy, force = morse()
    assert (sign_changes(force, 0.01), minima(energy), inflections(GRID, energy)) == (1, 1, 1)
    wall, rise = sides(energy, force, 1e-3)
    assert spearman(GRID[wall], energy[wall]) == pytest.approx(-1.0, abs=1e-12)
    assert spearman(GRID[rise], energy[rise]) == pytest.approx(1.0, abs=1e-12)
    assert wall.stop - 1 == rise.start == np.argmin(energy)
    assert rise.stop == len(GRID)


def test_a_well_counts_as_a_minimum_only_if_it_is_deep_enough() -> None:
    energy, _ = lennard_jones(0.09)
    assert (minima(energy), minima(energy, prominence=0.05)) == (0, 1)
    assert minima(lennard_jones(0.2)[0]) == 1


@given(
    arrays(np.float64, st.integers(3, 60), elements=st.floats(-3, 3, allow_subnormal=False, width=16)),
    st.sampled_from([0.01, 0.1, 1.0]),
)
def test_minima_are_the_peaks_of_the_negative_curve_as_scipy_finds_them(energy: Floats, prominence: float) -> None:
    assert minima(energy, prominence) == len(find_peaks(-energy, prominence=prominence, width=1)[0])


def test_oscillations_are_counted() -> None:
    energy, force = np.cos(4.0 * GRID), 4.0 * np.sin(4.0 * GRID)  # 24 rad: eight zeros of the sine, four minima
    inside = [k * pi / 4.0 for k in range(1, 9) if 0.18 < k * pi / 4.0 < 6.0]
    assert sign_changes(force, 0.01) == len(inside) == 7
    assert minima(energy) == 4
    assert inflections(GRID, energy) == len([k for k in range(20) if 0.18 < (k + 0.5) * pi / 4.0 < 6.0])


@pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-4])
def test_only_the_first_point_of_a_tail_without_forces_counts(noise: float) -> None:
    energy, force = morse(length=1.5)
    switch = np.clip(1.0 - (GRID / 4.5) ** 2, 0.0, None) ** 3  # to zero at 4.5 Å with its slope
    slope = -6.0 * GRID / 4.5**2 * np.clip(1.0 - (GRID / 4.5) ** 2, 0.0, None) ** 2
    energy, force = energy * switch, force * switch - energy * slope
    beyond = GRID >= 4.5
    energy[beyond] += noise * np.random.default_rng(5).standard_normal(beyond.sum())
    start = tail_start(energy, force, 1e-3)
    assert start == np.flatnonzero(beyond)[0]
    _, rise = sides(energy, force, 1e-3)
    assert rise.stop == start + 1
    assert spearman(GRID[rise], energy[rise]) == pytest.approx(1.0, abs=max(1e-9, 100.0 * noise, 1e-3 * bool(noise)))
    full = spearmanr(GRID[rise.start :], energy[rise.start :]).statistic
    assert full < 0.99  # the correlation with the whole tail


def test_a_tail_needs_zero_forces_and_a_constant_energy() -> None:
    energy, force = morse()
    last = len(GRID) - 1
    assert tail_start(energy, force, 1e-3) == last
    flat_from = tail_start(energy, np.zeros_like(force), 1e-3)
    assert np.abs(energy[flat_from:] - energy[-1]).max() <= 1e-3 < abs(energy[flat_from - 1] - energy[-1])
    assert tail_start(np.zeros(100), np.zeros(100), 1e-3) == 0


def test_a_repulsive_curve_has_no_attractive_part_and_an_attractive_curve_no_wall() -> None:
    repulsive = np.exp(-2.0 * GRID)
    wall, rise = sides(repulsive, 2.0 * repulsive, 1e-3)
    assert (wall.stop, rise.stop - rise.start) == (100, 1)
    cut, force = np.clip(3.0 - GRID, 0.0, None) ** 3, 3.0 * np.clip(3.0 - GRID, 0.0, None) ** 2
    cut[60] -= 1e-6  # rounding in the tail makes one point the lowest
    wall, rise = sides(cut, force, 1e-3)
    assert rise.stop - rise.start == 1
    assert wall.stop - 1 == np.flatnonzero(GRID >= 3.0)[0]
    wall, _ = sides(-repulsive, -2.0 * repulsive, 1e-3)
    assert wall.stop == 1


@pytest.mark.parametrize("curve", [morse(), lennard_jones(), morse(11.2, 2.3, 1.13)], ids=["morse", "12-6", "like CO"])
def test_the_gap_is_small_for_consistent_curves_and_large_for_wrong_forces(curve: tuple[Floats, Floats]) -> None:
    energy, force = curve
    sound = force_energy_gap(GRID, energy, force)
    assert sound is not None
    assert sound < 2e-3
    assert (force_energy_gap(GRID, energy, 0.0 * force) or 0.0) > 0.5
    assert (force_energy_gap(GRID, energy, -force) or 0.0) > 0.5
    few_percent = force_energy_gap(GRID, energy, 1.1 * force) or 0.0
    assert 0.01 < few_percent < 0.06


def test_there_is_no_gap_where_the_grid_does_not_resolve_the_curve() -> None:
    spikes = np.where(np.arange(100) % 2 == 0, 50.0, -50.0)
    assert force_energy_gap(GRID, np.cumsum(spikes), spikes) is None


def test_a_hole_is_a_decrease_of_the_energy_at_short_distance() -> None:
    energy, _ = morse()
    assert inward_drop(GRID, energy, 1.0) == 0.0
    hole = energy - 2000.0 * np.exp(-((GRID / 0.3) ** 2))
    peak = hole[GRID <= 1.0].max()
    deepest = hole[: np.argmax(hole[GRID <= 1.0])].min()
    assert inward_drop(GRID, hole, 1.0) == pytest.approx(peak - deepest)
    assert inward_drop(GRID, energy, 0.1) == 0.0


@pytest.mark.parametrize(
    ("depth", "width", "length", "mass"),
    [(4.75, 1.94, 0.7414, 0.504), (9.9, 2.7, 1.0977, 7.0), (1.06, 0.87, 2.67, 3.5)],
)
def test_a_morse_oscillator_has_its_analytic_constants(depth: float, width: float, length: float, mass: float) -> None:
    energy, _ = morse(depth, width, length)
    well = bond(GRID, energy, near=length + 0.3)
    assert well is not None
    assert well.length == pytest.approx(length, abs=1e-4)
    assert well.depth == pytest.approx(depth + energy[-1], rel=1e-4)
    assert well.stiffness == pytest.approx(2.0 * depth * width**2, rel=1e-3)
    omega = width * sqrt(2.0 * depth * constants.e / (mass * constants.atomic_mass)) * 1e10
    assert wavenumber(2.0 * depth * width**2, mass) == pytest.approx(omega / (200.0 * pi * constants.c), rel=1e-8)


def test_the_bond_is_the_well_nearest_to_a_length() -> None:
    energy = np.cos(4.0 * GRID)
    for k in (1, 3, 5):
        well = bond(GRID, energy, near=k * pi / 4.0 + 0.2)
        assert well is not None
        assert well.length == pytest.approx(k * pi / 4.0, abs=1e-5)
        assert well.stiffness == pytest.approx(16.0, rel=1e-4)
    assert bond(GRID, np.exp(-GRID), near=1.0) is None
    edge = bond(GRID, (GRID - GRID[1] - 0.01) ** 2, near=0.5)
    assert edge is not None
    assert edge.length == pytest.approx(GRID[1] + 0.01, abs=1e-8)
