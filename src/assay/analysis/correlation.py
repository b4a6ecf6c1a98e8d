"""How two series go together: Pearson's and Spearman's correlations."""

from __future__ import annotations

from math import sqrt

import numpy as np

from assay.structure import Floats


def pearson(first: Floats, second: Floats) -> float | None:
    """Pearson's correlation; None where one of the two never changes, so that there is none."""
    a, b = first - first.mean(), second - second.mean()
    size = sqrt(float(a @ a) * float(b @ b))
    if size <= 1e-12 * max(1.0, float(np.abs(first).max()) * float(np.abs(second).max())):
        return None
    return max(-1.0, min(1.0, float(a @ b) / size))


def spearman(first: Floats, second: Floats) -> float | None:
    """Spearman's rank correlation; None where one of the two never changes."""
    return pearson(ranks(first), ranks(second))


def ranks(values: Floats) -> Floats:
    """The place of each value in rising order, counted from 1; equal values share the mean of their places."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(np.cumsum(count) - 0.5 * (count - 1.0))[place]
