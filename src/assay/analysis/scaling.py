"""Growth of the cost of an evaluation with the number of atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.structure import Floats

BEYOND = 3.0
"""The fit starts where the cost is this multiple of that of the smallest size: below, a constant cost dominates."""

FEWEST = 3
"""The fewest points for a fit."""


class Growth(NamedTuple):
    """The exponent of cost ~ size^exponent, its standard error, and the number of sizes in the fit."""

    exponent: float | None
    stderr: float | None
    points: int


def growth(sizes: Floats, costs: Floats) -> Growth:
    """The exponent of the cost, by a straight-line fit to the logarithms for the larger sizes."""
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
    residuals = y - y.mean() - slope * centred
    error = float(np.sqrt(residuals @ residuals / (len(x) - 2) / spread)) if len(x) > 2 else None
    return Growth(slope, error, len(x))
