"""Fluctuations of known distributions, and the number of independent amplitudes in a run."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.blocks import Average
from assay.analysis.fluctuations import (
    LEAST_RATIO,
    drift_with_memory,
    energy_fluctuations,
    harmonic_spread,
    independent_amplitudes,
    pooled,
    spread,
    without_warm_up,
)


def test_a_stiffer_coordinate_moves_less() -> None:
    assert harmonic_spread(30.0, 300.0) == pytest.approx(0.02936, abs=1e-5)
    assert harmonic_spread(30.0, 300.0) / harmonic_spread(90.0, 300.0) == pytest.approx(3.0**0.5)


@pytest.mark.parametrize("factor", [3.0**-0.5, 1.0, 3.0**0.5])
def test_the_ratio_of_a_normal_distribution(factor: float) -> None:
    values = 0.03 * factor * np.random.default_rng(0).normal(size=20_000)
    measured = spread([values**2], 0.03, 1e4)
    assert measured.ratio == pytest.approx(factor, rel=0.02)
    assert measured.values()["fluctuation_error"] == pytest.approx(abs(np.log(factor)), abs=0.02)
    assert measured.log_stderr == pytest.approx(0.005, rel=0.2)


def test_many_periods_of_one_amplitude_do_not_reduce_the_error() -> None:
    vibration = 0.03 * np.sqrt(2.0) * np.sin(np.arange(0.0, 2000.0, 0.37))
    few, many = (spread([vibration**2], 0.03, samples) for samples in (2.0, 200.0))
    assert few.ratio == many.ratio == pytest.approx(1.0, abs=0.01)
    assert few.log_stderr == pytest.approx(0.5 / np.sqrt(2.0))
    assert few.tolerance(0.3)["fluctuation_error"] > 0.7
    assert many.tolerance(0.3)["fluctuation_error"] == 0.3


def test_friction_decides_the_number_of_independent_amplitudes() -> None:
    assert independent_amplitudes(20.0, 2.0) == 20.0
    assert independent_amplitudes(20.0, 2.0, modes=3) == 60.0
    assert independent_amplitudes(0.1, 2.0) == 1.0


def test_no_motion_gives_a_large_and_finite_error() -> None:
    measured = spread([np.zeros(100)], 0.03, 10.0)
    assert measured.values()["fluctuation_error"] == pytest.approx(-np.log(LEAST_RATIO))
    assert measured.errors()["fluctuation"] == 0.0


def test_runs_that_differ_have_a_larger_error() -> None:
    alike = pooled([Average(1.0, 0.1, 50.0)] * 4)
    assert (alike.value, alike.stderr, alike.independent) == (1.0, 0.05, 200.0)
    apart = pooled([Average(1.0, 0.1, 50.0), Average(3.0, 0.1, 50.0)])
    assert apart.stderr == pytest.approx(1.0)
    assert pooled([Average(2.0, None, 1.0)]).stderr is None


def test_the_start_of_a_run_is_dropped_only_where_that_is_allowed() -> None:
    series = np.concatenate([np.linspace(5.0, 0.0, 100), np.random.default_rng(0).normal(size=900)])
    (dropped,), (whole,) = without_warm_up([series], True), without_warm_up([series], False)
    assert len(dropped) < 960
    assert len(whole) == 1000


def test_energy_that_turns_into_motion_is_conserved() -> None:
    phase = np.linspace(0.0, 60.0, 5000)
    kinetic, lost = energy_fluctuations(np.cos(phase) ** 2, np.sin(phase) ** 2)
    assert kinetic == pytest.approx(0.354, abs=0.01)
    assert lost < 1e-9
    assert energy_fluctuations(np.zeros(5000), np.sin(phase) ** 2)[1] == pytest.approx(1.0)
    assert energy_fluctuations(np.zeros(9), np.ones(9)) == (0.0, 1.0)


def test_a_slow_wave_is_not_a_significant_slope() -> None:
    """A wave of one period has a slope that is not significant; a true slope is significant."""
    times = np.linspace(0.0, 1.0, 500)
    fast = 0.02 * np.sin(700.0 * times)
    wave = drift_with_memory(times, 0.3 * np.sin(2.0 * np.pi * times) + fast, 0.5)
    line = drift_with_memory(times, 3.0 * times + fast, 0.5)
    assert wave.stderr is not None
    assert line.stderr is not None
    assert abs(wave.value) < 3.0 * wave.stderr
    assert line.value == pytest.approx(3.0, abs=0.01)
    assert line.stderr < 0.05
