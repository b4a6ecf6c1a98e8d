"""The order of energy errors with known time dependence."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.time_step import fast_variances, rounding, time_step_order
from assay.structure import Floats


def energies(size: float, drift: float = 0.0, seed: int = 0) -> Floats:
    return size * np.random.default_rng(seed).standard_normal(1000) + drift * np.linspace(0.0, 1.0, 1000)


@pytest.mark.parametrize("order", [0.0, 1.0, 2.0])
def test_the_power_of_the_time_step_is_found(order: float) -> None:
    found = time_step_order([energies(1.0, seed=1)], [energies(0.5**order, seed=2)])
    assert found is not None
    assert found.stderr is not None
    assert 0.01 < found.stderr < 0.1
    assert found.value == pytest.approx(order, abs=3.0 * found.stderr)


def test_a_slow_change_does_not_count() -> None:
    found = time_step_order([energies(1.0, 30.0, 1)], [energies(0.25, 30.0, 2)])
    assert found is not None
    assert found.value == pytest.approx(2.0, abs=0.1)
    assert fast_variances(np.linspace(0.0, 5.0, 100)) == pytest.approx(0.0, abs=1e-20)


def test_the_error_is_the_scatter_over_many_runs() -> None:
    found = [time_step_order([energies(1.0, seed=2 * i)], [energies(0.25, seed=2 * i + 1)]) for i in range(60)]
    values, errors = zip(*((f.value, f.stderr) for f in found if f is not None), strict=True)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.3)


def test_runs_without_an_order() -> None:
    assert time_step_order([energies(1.0)[:39]], [energies(1.0)[:39]]) is None
    assert time_step_order([np.zeros(100)], [np.zeros(100)]) is None


def test_the_spacing_of_single_and_double_precision() -> None:
    values = -1e4 + energies(1.0)
    assert rounding(values) == pytest.approx(2.0**-39, rel=1e-9)
    assert rounding(values.astype(np.float32).astype(float)) == 2.0**-10
