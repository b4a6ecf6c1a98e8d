"""Profiles of a few energies: errors by hand, and correlations that exist only where something changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.profiles import (
    aligned,
    barrier,
    interaction_energy,
    mean_absolute_error,
    pearson,
    rank_correlation,
    root_mean_square_error,
)

NUMBERS = st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=12)


def test_both_are_zero_where_the_reference_is_lowest() -> None:
    predicted, reference = aligned(np.array([5.0, 7.0, 1.0]), np.array([3.0, 2.0, 4.0]))
    np.testing.assert_array_equal(predicted, [-2.0, 0.0, -6.0])
    np.testing.assert_array_equal(reference, [1.0, 0.0, 2.0])


def test_errors_count_every_point() -> None:
    predicted, reference = np.array([0.0, 3.0, -1.0]), np.array([0.0, 1.0, 0.0])
    assert mean_absolute_error(predicted, reference) == pytest.approx(1.0)
    assert root_mean_square_error(predicted, reference) == pytest.approx((5.0 / 3.0) ** 0.5)


def test_the_barrier_is_from_lowest_to_highest() -> None:
    assert barrier(np.array([1.0, -2.0, 4.5])) == 6.5


@pytest.mark.parametrize(("repulsive", "expected"), [(False, -4.5), (True, 2.5)])
def test_the_interaction_is_measured_from_the_largest_distance(repulsive: bool, expected: float) -> None:
    curve, distances = np.array([0.5, 3.0, -4.0, -1.0]), np.array([20.0, 9.0, 10.0, 12.0])  # not in order
    assert interaction_energy(curve, distances, repulsive) == expected


@given(NUMBERS, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_a_line_correlates_perfectly(values: list[float], slope: float, shift: float) -> None:
    x = np.array(values)
    if np.ptp(x) > 1e-3:
        assert pearson(x, slope * x + shift) == pytest.approx(1.0, abs=1e-6)
        assert pearson(x, -slope * x + shift) == pytest.approx(-1.0, abs=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e5, -79_000.0])
def test_what_never_changes_has_no_correlation(size: float) -> None:
    flat, line = np.full(5, size), np.arange(5.0)
    assert pearson(flat, line) is None
    assert rank_correlation(line, flat) is None


def test_only_the_order_counts_for_ranks() -> None:
    assert rank_correlation(np.array([1.0, 2.0, 30.0]), np.array([0.1, 0.2, 0.3])) == pytest.approx(1.0)
    assert rank_correlation(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3])) == pytest.approx(-1.0)
