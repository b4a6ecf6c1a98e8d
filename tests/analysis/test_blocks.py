"""Averages of correlated series: an autoregressive process has known correlation time, mean and standard error."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.blocks import average, drift, equilibration_length, statistical_inefficiency


def correlated(memory: float, count: int, seed: int = 0) -> np.ndarray:
    """An autoregressive series: each value is `memory` times the last one plus noise; variance 1, mean 0."""
    random = np.random.default_rng(seed)
    noise = random.standard_normal(count) * np.sqrt(1.0 - memory**2)
    series = np.empty(count)
    series[0] = random.standard_normal()
    for i in range(1, count):
        series[i] = memory * series[i - 1] + noise[i]
    return series


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_inefficiency_of_an_autoregressive_series_is_known(memory: float) -> None:
    exact = (1.0 + memory) / (1.0 - memory)
    measured = np.mean([statistical_inefficiency(correlated(memory, 20_000, seed)) for seed in range(5)])
    assert measured == pytest.approx(exact, rel=0.1)


def test_the_standard_error_is_the_spread_of_means_over_many_runs() -> None:
    runs = [correlated(0.9, 4000, seed) for seed in range(200)]
    spread = np.std([run.mean() for run in runs])
    assert np.mean([average(run).stderr for run in runs]) == pytest.approx(spread, rel=0.15)


def test_an_error_that_ignores_correlation_would_be_three_times_too_small() -> None:
    series = correlated(0.9, 4000)
    assert average(series).stderr > 3.0 * series.std() / np.sqrt(len(series))


def test_the_start_that_is_not_in_equilibrium_is_dropped() -> None:
    series = correlated(0.5, 4000)
    series[:600] += 10.0 * np.exp(-np.arange(600) / 100.0)
    assert 200 <= equilibration_length(series) <= 1000
    assert equilibration_length(correlated(0.5, 4000, 1)) <= 400


def test_few_values_have_no_standard_error() -> None:
    assert average(np.array([1.0, 3.0])) == (2.0, None, 1.0)
    assert average(np.zeros(0)).independent == 0.0


def test_a_constant_series_has_no_error() -> None:
    assert average(np.full(50, 2.0))[:2] == (2.0, 0.0)


def test_the_error_of_a_slope_is_the_spread_of_slopes_over_many_runs() -> None:
    times = np.arange(2000) * 0.01
    drifts = [drift(times, 0.3 * times + correlated(0.8, 2000, seed)) for seed in range(200)]
    slopes = [d.value for d in drifts]
    assert np.mean(slopes) == pytest.approx(0.3, abs=0.005)
    assert np.mean([d.stderr for d in drifts]) == pytest.approx(np.std(slopes), rel=0.2)
