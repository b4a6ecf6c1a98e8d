"""How cost grows with size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.structure import Floats

BEYOND = 3.0
"""Sizes count from where the cost is this many times that of the smallest: before that, a fixed cost hides the law."""

FEWEST = 3
"""Points that a law needs."""


class Growth(NamedTuple):
    """cost ~ size^exponent, with its standard error and from how many sizes."""

    exponent: float | None
    stderr: float | None
    points: int


def growth(sizes: Floats, costs: Floats) -> Growth:
    """The exponent with which cost grows, by a straight line through logarithms of the larger sizes."""
    order = np.argsort(sizes)
    n, cost = np.asarray(sizes, dtype=float)[order], np.asarray(costs, dtype=float)[order]
    n, cost = n[cost > 0.0], cost[cost > 0.0]
    if len(n) < FEWEST:
        return Growth(None, None, len(n))
    start = min(int(np.argmax(cost >= BEYOND * cost[0])) if (cost >= BEYOND * cost[0]).any() else 0, len(n) - FEWEST)
    x, y = np.log(n[start:]), np.log(cost[start:])
    centred = x - x.mean()
    spread = float(centred @ centred)
    if spread == 0.0:
        return Growth(None, None, len(x))
    slope = float(centred @ y) / spread
    rest = y - y.mean() - slope * centred
    error = float(np.sqrt(rest @ rest / (len(x) - 2) / spread)) if len(x) > 2 else None
    return Growth(slope, error, len(x))
