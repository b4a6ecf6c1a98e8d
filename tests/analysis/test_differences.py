"""Numerical derivatives are as accurate as their uncertainty states, for any function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.structure import Floats

Function = Callable[[Floats], Floats]

STEPS = 0.032 / 2.0 ** np.arange(6)
EPSILON = float(np.finfo(float).eps)
HONEST = 10.0
"""The largest allowed ratio of the true error to the stated uncertainty."""

places = st.floats(-3.0, 3.0)
rates = st.floats(0.1, 3.0)


def at_steps(function: Function, at: object, steps: Floats = STEPS) -> tuple[Floats, Floats]:
    """The function at both ends of every step: forward and backward."""
    x = np.asarray(at, dtype=float)
    forward, backward = (np.array([function(x + sign * h) for h in steps]) for sign in (1.0, -1.0))
    return forward, backward


def rounding(function: Function, at: float) -> float:
    """The rounding error of a value of the function in double precision."""
    return 2.0 * EPSILON * max(float(np.abs(values).max()) for values in at_steps(function, at))


def derivative(function: Function, at: object, steps: Floats = STEPS, noise: float = 0.0) -> tuple[Floats, Floats]:
    return extrapolated_derivative(steps, *at_steps(function, at, steps), noise)


def honest(function: Function, exact: float, at: float, steps: Floats = STEPS) -> bool:
    value, uncertainty = derivative(function, at, steps, rounding(function, at))
    return abs(float(value) - exact) <= HONEST * float(uncertainty)


@given(places, rates)
def test_the_derivative_of_a_sine_is_a_cosine(x: float, k: float) -> None:
    assert honest(lambda t: np.sin(k * t), k * np.cos(k * x), x)
    assert float(derivative(lambda t: np.sin(k * t), x)[0]) == pytest.approx(k * np.cos(k * x), abs=1e-11)


@given(places, rates)
def test_the_derivative_of_an_exponential_is_itself(x: float, k: float) -> None:
    exact = k * np.exp(k * x)
    assert honest(lambda t: np.exp(k * t), exact, x)
    assert float(derivative(lambda t: np.exp(k * t), x)[0]) == pytest.approx(exact, rel=1e-10)


@given(places, st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=8))
def test_the_derivative_of_a_polynomial_is_known(x: float, coefficients: list[float]) -> None:
    curve = np.polynomial.Polynomial(coefficients)
    assert honest(curve, float(curve.deriv()(x)), x)


@given(places, rates, st.floats(1.5, 4.0), st.integers(3, 8))
def test_any_constant_ratio_of_steps_works(x: float, k: float, ratio: float, count: int) -> None:
    steps = 0.05 / ratio ** np.arange(count)
    assert honest(lambda t: np.sin(k * t), k * np.cos(k * x), x, steps)


def test_extrapolation_beats_every_single_step() -> None:
    value, uncertainty = derivative(np.exp, 1.0)
    single = [abs((np.exp(1.0 + h) - np.exp(1.0 - h)) / (2.0 * h) - np.e) for h in STEPS]
    assert abs(float(value) - np.e) < 1e-3 * min(single)
    assert float(uncertainty) < 1e-3 * min(single)


def test_a_straight_line_has_its_slope() -> None:
    value, uncertainty = derivative(lambda x: 3.0 * x - 1.0, 0.7)
    assert float(value) == pytest.approx(3.0, abs=1e-12)
    assert float(uncertainty) < 1e-12


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("stated", [0.0, 1.0], ids=["unknown noise", "stated noise"])
def test_the_uncertainty_of_a_noisy_function_is_the_noise_divided_by_the_step(size: float, stated: float) -> None:
    rng, x = np.random.default_rng(1), np.linspace(-1.0, 1.0, 2000)
    value, uncertainty = derivative(lambda t: np.sin(t) + size * rng.standard_normal(t.shape), x, noise=stated * size)
    natural, errors = size / STEPS[0], np.abs(value - np.cos(x))
    assert 0.1 * natural < np.median(uncertainty) < 10.0 * natural
    assert 0.1 * natural < np.median(errors) < 10.0 * natural
    if stated:
        assert (errors <= HONEST * uncertainty).all()


def test_a_step_too_small_to_change_the_function_is_not_exact() -> None:
    steps = 1e-3 / 10.0 ** np.arange(6)
    value, uncertainty = derivative(lambda x: np.round(x, 4), 0.3, steps, noise=5e-5)
    assert abs(float(value) - 1.0) <= HONEST * float(uncertainty)
    assert float(uncertainty) >= 5e-5 / steps[0]


@given(places, rates)
def test_a_smooth_function_has_the_same_slope_on_both_sides(x: float, k: float) -> None:
    forward, backward = at_steps(lambda t: np.sin(k * t), x)
    gap = derivative_gap(STEPS, np.sin(k * np.asarray(x)), forward, backward, 2.0 * EPSILON)
    assert float(gap) < 1e-9


@pytest.mark.parametrize("size", [1.0, -1e-3, 1e-6])
@pytest.mark.parametrize("offset", [0.0, 1e-9, -1e-9])
def test_the_gap_at_a_kink_is_the_size_of_the_kink(size: float, offset: float) -> None:
    def kinked(t: Floats) -> Floats:
        return np.sin(t) + size * np.maximum(0.0, t - 0.5)

    x = 0.5 + offset
    gap = derivative_gap(STEPS, kinked(np.asarray(x)), *at_steps(kinked, x), 2.0 * EPSILON)
    assert float(gap) == pytest.approx(abs(size), rel=1e-3, abs=1e-9)


def test_a_jump_between_the_points_makes_the_slope_uncertain() -> None:
    def step(x: Floats) -> Floats:
        return np.sin(x) + 1e-3 * (x > 0.5001)

    _, uncertainty = derivative(step, 0.5)
    assert float(uncertainty) > 1e-3


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, max_dims=3, max_side=4), elements=st.floats(-2.0, 2.0)))
def test_arrays_of_any_shape_are_differentiated_component_by_component(x: Floats) -> None:
    value, uncertainty = derivative(np.sin, x)
    assert value.shape == uncertainty.shape == x.shape
    for place in np.ndindex(x.shape):
        alone, its_uncertainty = derivative(np.sin, x[place])
        assert value[place] == float(alone)
        assert uncertainty[place] == float(its_uncertainty)
    np.testing.assert_allclose(value, np.cos(x), atol=1e-11)


def test_the_inputs_are_not_changed() -> None:
    forward, backward = (
        np.array([np.sin(0.3 + STEPS), np.exp(STEPS)]).T,
        np.array([np.sin(0.3 - STEPS), np.exp(-STEPS)]).T,
    )
    before = forward.copy(), backward.copy()
    extrapolated_derivative(STEPS, forward, backward)
    assert np.array_equal(forward, before[0])
    assert np.array_equal(backward, before[1])
