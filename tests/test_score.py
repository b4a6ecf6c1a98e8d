"""Scores and grades agree with values computed by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.score import combine, grade, mean_score, soft_threshold

positive = st.floats(1e-6, 1e6)
unit = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("error", "threshold", "score"),
    [
        (0.0, 0.5, 1.0),
        (0.5, 0.5, 1.0),
        (0.75, 0.5, math.exp(-1.5)),
        (1.0, 0.5, 0.049787068367863944),  # exp(−3)
        (1.5, 0.5, 0.0024787521766663585),  # exp(−6)
        (4.0, 3.0, 0.36787944117144233),  # exp(−1)
        (float("nan"), 1.0, 0.0),
        (float("inf"), 1.0, 0.0),
        (float("-inf"), 1.0, 0.0),
        (1e300, 1e-300, 0.0),
    ],
)
def test_a_score_decreases_from_one_beyond_the_threshold(error: float, threshold: float, score: float) -> None:
    assert soft_threshold(error, threshold) == pytest.approx(score, rel=1e-14)


@given(positive, positive, positive)
def test_a_larger_error_never_scores_more(a: float, b: float, threshold: float) -> None:
    small, large = sorted((a, b))
    assert 0.0 <= soft_threshold(large, threshold) <= soft_threshold(small, threshold) <= 1.0


@given(positive, positive, positive)
def test_a_wider_threshold_never_scores_less(error: float, a: float, b: float) -> None:
    narrow, wide = sorted((a, b))
    assert soft_threshold(error, narrow) <= soft_threshold(error, wide)


@given(positive, positive, st.floats(0.01, 100.0))
def test_only_the_ratio_of_error_and_threshold_counts(error: float, threshold: float, scale: float) -> None:
    assert soft_threshold(scale * error, scale * threshold) == pytest.approx(soft_threshold(error, threshold), rel=1e-6)


def test_there_is_no_mean_without_values() -> None:
    assert mean_score([]) == (None, None)
    assert combine([]) == (None, None)
    assert combine([(None, None), (None, 0.1)]) == (None, None)


def test_mean_and_standard_error_by_hand() -> None:
    assert mean_score([0.25]) == (0.25, None)
    mean, error = mean_score([0.0, 0.5, 1.0])
    assert mean == 0.5
    assert error == pytest.approx(0.5 / math.sqrt(3.0))
    assert mean_score([1.0, 1.0]) == (1.0, 0.0)


@given(st.lists(unit, min_size=1, max_size=20), st.randoms())
def test_a_mean_lies_between_its_values_and_does_not_depend_on_their_order(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    mean, _ = mean_score(values)
    assert mean is not None
    assert min(values) - 1e-12 <= mean <= max(values) + 1e-12
    assert mean_score(shuffled) == mean_score(values)


def test_combined_scores_leave_out_missing_ones_and_add_squared_errors() -> None:
    assert combine([(1.0, None), (None, 5.0), (0.5, None)]) == (0.75, None)
    score, error = combine([(1.0, 0.3), (0.0, 0.4)])
    assert (score, error) == (0.5, pytest.approx(0.25))
    assert combine([(1.0, 0.3), (0.0, None)]) == (0.5, pytest.approx(0.15))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (0.0, "A"),
        (1e-6, "A"),  # ten times the floor
        (1.001e-6, "B"),
        (0.999e-5, "B"),
        (1.001e-5, "C"),
        (0.999e-4, "C"),
        (1.001e-4, "D"),
        (1e-3, "D"),  # the tolerance itself passes
        (1.001e-3, "F"),
        (float("inf"), "F"),
        (float("nan"), "F"),
    ],
)
def test_each_grade_covers_the_same_factor(error: float, expected: str) -> None:
    assert grade(error, floor=1e-7, tolerance=1e-3) == expected


def test_a_model_whose_noise_fills_the_tolerance_gets_an_a_or_an_f() -> None:
    assert grade(0.9, floor=0.5, tolerance=1.0) == "A"
    assert grade(1.1, floor=0.5, tolerance=1.0) == "F"


@given(positive, positive, positive, positive)
def test_a_larger_error_never_gets_a_better_grade(a: float, b: float, floor: float, tolerance: float) -> None:
    small, large = sorted((a, b))
    assert grade(small, floor, tolerance) <= grade(large, floor, tolerance)


@given(positive, positive, positive)
def test_f_means_beyond_the_tolerance(error: float, floor: float, tolerance: float) -> None:
    assert (grade(error, floor, tolerance) == "F") == (error > tolerance)


def test_without_noise_an_error_within_the_tolerance_gets_a_grade() -> None:
    assert grade(0.5, floor=0.0, tolerance=1.0) == "D"
