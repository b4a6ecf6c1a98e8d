"""Fluctuations of known distributions, and how many amplitudes a run can have seen."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.blocks import Average
from assay.analysis.fluctuations import (
    LEAST_RATIO,
    amplitudes,
    balance,
    harmonic_spread,
    pooled,
    settled,
    spread,
    wandering,
)


def test_a_stiffer_coordinate_moves_less() -> None:
    assert harmonic_spread(30.0, 300.0) == pytest.approx(0.02936, abs=1e-5)
    assert harmonic_spread(30.0, 300.0) / harmonic_spread(90.0, 300.0) == pytest.approx(3.0**0.5)


@pytest.mark.parametrize("factor", [3.0**-0.5, 1.0, 3.0**0.5])
def test_the_ratio_of_a_normal_distribution(factor: float) -> None:
    values = 0.03 * factor * np.random.default_rng(0).normal(size=20_000)
    found = spread([values**2], 0.03, 1e4)
    assert found.ratio == pytest.approx(factor, rel=0.02)
    assert found.values()["fluctuation_error"] == pytest.approx(abs(np.log(factor)), abs=0.02)
    assert found.log_stderr == pytest.approx(0.005, rel=0.2)


def test_one_amplitude_is_not_well_known_however_many_periods_it_is_watched() -> None:
    swing = 0.03 * np.sqrt(2.0) * np.sin(np.arange(0.0, 2000.0, 0.37))
    few, many = (spread([swing**2], 0.03, samples) for samples in (2.0, 200.0))
    assert few.ratio == many.ratio == pytest.approx(1.0, abs=0.01)
    assert few.log_stderr == pytest.approx(0.5 / np.sqrt(2.0))
    assert few.tolerance(0.3)["fluctuation_error"] > 0.7
    assert many.tolerance(0.3)["fluctuation_error"] == 0.3


def test_amplitudes_are_made_by_friction() -> None:
    assert amplitudes(20.0, 2.0) == 20.0
    assert amplitudes(20.0, 2.0, modes=3) == 60.0
    assert amplitudes(0.1, 2.0) == 1.0


def test_no_motion_is_a_finite_and_large_error() -> None:
    found = spread([np.zeros(100)], 0.03, 10.0)
    assert found.values()["fluctuation_error"] == pytest.approx(-np.log(LEAST_RATIO))
    assert found.errors()["fluctuation"] == 0.0


def test_runs_that_scatter_say_so() -> None:
    alike = pooled([Average(1.0, 0.1, 50.0)] * 4)
    assert (alike.value, alike.stderr, alike.independent) == (1.0, 0.05, 200.0)
    apart = pooled([Average(1.0, 0.1, 50.0), Average(3.0, 0.1, 50.0)])
    assert apart.stderr == pytest.approx(1.0)
    assert pooled([Average(2.0, None, 1.0)]).stderr is None


def test_the_start_of_a_run_is_dropped_only_where_that_is_allowed() -> None:
    series = np.concatenate([np.linspace(5.0, 0.0, 100), np.random.default_rng(0).normal(size=900)])
    (dropped,), (whole,) = settled([series], True), settled([series], False)
    assert len(dropped) < 960
    assert len(whole) == 1000


def test_energy_that_turns_into_motion_is_balanced() -> None:
    phase = np.linspace(0.0, 60.0, 5000)
    moved, lost = balance(np.cos(phase) ** 2, np.sin(phase) ** 2)
    assert moved == pytest.approx(0.354, abs=0.01)
    assert lost < 1e-9
    assert balance(np.zeros(5000), np.sin(phase) ** 2)[1] == pytest.approx(1.0)
    assert balance(np.zeros(9), np.ones(9)) == (0.0, 1.0)


def test_a_slow_wave_is_not_taken_for_a_sure_slope() -> None:
    """A wave of one period in the time has a slope, but one that is not known; a true slope is."""
    times = np.linspace(0.0, 1.0, 500)
    fast = 0.02 * np.sin(700.0 * times)
    wave = wandering(times, 0.3 * np.sin(2.0 * np.pi * times) + fast, 0.5)
    line = wandering(times, 3.0 * times + fast, 0.5)
    assert wave.stderr is not None
    assert line.stderr is not None
    assert abs(wave.value) < 3.0 * wave.stderr
    assert line.value == pytest.approx(3.0, abs=0.01)
    assert line.stderr < 0.05
