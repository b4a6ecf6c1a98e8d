"""Correlation of two series: Pearson's and Spearman's coefficients."""

from __future__ import annotations

from math import sqrt

import numpy as np

from assay.structure import Floats


def pearson(first: Floats, second: Floats) -> float | None:
    """Pearson's correlation coefficient; None if one of the two series is constant."""
    a, b = first - first.mean(), second - second.mean()
    size = sqrt(float(a @ a) * float(b @ b))
    if size <= 1e-12 * max(1.0, float(np.abs(first).max()) * float(np.abs(second).max())):
        return None
    return max(-1.0, min(1.0, float(a @ b) / size))


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's rank correlation coefficient; None if one of the two series is constant."""
    return pearson(ranks(first), ranks(second))


def ranks(values: Floats) -> Floats:
    """The rank of each value in increasing order, counted from 1; equal values get the mean of their ranks."""
    _, group, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(np.cumsum(count) - 0.5 * (count - 1.0))[group]
