"""Correlation coefficients agree with scipy, and a constant series has none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from assay.analysis.correlation import pearson, ranks, spearman

NUMBERS = st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=12)
few_values = st.lists(st.integers(-5, 5), min_size=3, max_size=40)  # few values, so many ties


@given(few_values, st.data())
def test_ranks_and_their_correlation_are_those_of_scipy(first: list[int], data: st.DataObject) -> None:
    second = data.draw(st.lists(st.integers(-5, 5), min_size=len(first), max_size=len(first)))
    x, y = np.array(first, dtype=float), np.array(second, dtype=float)
    np.testing.assert_array_equal(ranks(x), rankdata(x))
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert spearman(x, y) == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    else:
        assert spearman(x, y) is None


@given(NUMBERS, st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_a_line_correlates_perfectly(values: list[float], slope: float, shift: float) -> None:
    x = np.array(values)
    if np.ptp(x) > 1e-3:
        assert pearson(x, slope * x + shift) == pytest.approx(1.0, abs=1e-6)
        assert pearson(x, -slope * x + shift) == pytest.approx(-1.0, abs=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e5, -79_000.0])
def test_a_constant_series_has_no_correlation(size: float) -> None:
    flat, line = np.full(5, size), np.arange(5.0)
    assert pearson(flat, line) is None
    assert spearman(line, flat) is None


def test_only_the_order_counts_for_ranks() -> None:
    assert spearman(np.array([1.0, 2.0, 30.0]), np.array([0.1, 0.2, 0.3])) == pytest.approx(1.0)
    assert spearman(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3])) == pytest.approx(-1.0)
