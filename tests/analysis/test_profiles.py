"""Energy profiles: errors, barriers and interaction energies agree with values computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.profiles import (
    barrier,
    interaction_energy,
    mean_absolute_error,
    relative_to_lowest,
    root_mean_square_error,
)


def test_both_profiles_are_zero_where_the_reference_is_lowest() -> None:
    predicted, reference = relative_to_lowest(np.array([5.0, 7.0, 1.0]), np.array([3.0, 2.0, 4.0]))
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
