"""Derivatives from values at a ladder of steps, with an uncertainty that knows nothing of the answer expected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats


def extrapolated_derivative(steps: Floats, forward: NDArray, backward: NDArray) -> tuple[NDArray, NDArray]:
    """Derivative and its uncertainty by central differences at halving steps, extrapolated to zero step.

    `forward[k]` and `backward[k]` are the function (any shape) at +steps[k] and −steps[k]; steps fall by one constant
    factor. Large steps suffer from curvature and small ones from rounding: in Neville's table of extrapolations each
    entry is compared with its two parents, and for each component the entry that agrees best with its parents is taken.
    Their disagreement is the uncertainty, so its minimum over the scan is the noise floor of the derivative.
    """
    ratio = float(steps[0] / steps[1])
    spread = steps.reshape(-1, *([1] * (forward.ndim - 1)))
    table = [list((forward - backward) / (2.0 * spread))]
    best = np.array(table[0][0], dtype=float)
    uncertainty = np.full(best.shape, np.inf)
    # Plain central differences count too: for a noisy function no extrapolation beats the largest step.
    for k in range(1, len(steps)):
        _keep_better(best, uncertainty, table[0][k], np.abs(table[0][k] - table[0][k - 1]))
    for order in range(1, len(steps)):
        power = ratio ** (2 * order)
        previous = table[-1]
        column = [(power * previous[k + 1] - previous[k]) / (power - 1.0) for k in range(len(previous) - 1)]
        for k, value in enumerate(column):
            doubt = np.maximum(np.abs(value - previous[k]), np.abs(value - previous[k + 1]))
            _keep_better(best, uncertainty, value, doubt)
        table.append(column)
    return best, uncertainty


def _keep_better(best: NDArray, uncertainty: NDArray, value: NDArray, doubt: NDArray) -> None:
    better = doubt < uncertainty
    best[better] = value[better]
    uncertainty[better] = doubt[better]
