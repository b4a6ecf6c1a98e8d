"""Numerical derivatives at a series of steps, with an uncertainty that does not depend on the expected result."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats


def extrapolated_derivative(
    steps: Floats, forward: NDArray, backward: NDArray, noise: float = 0.0
) -> tuple[NDArray, NDArray]:
    """Derivative and its uncertainty by central differences at decreasing steps, extrapolated to zero step.

    `forward[k]` and `backward[k]` are the function (any shape) at +steps[k] and −steps[k]; steps decrease by one
    constant factor; `noise` is the error of a value. Large steps suffer from curvature and small steps from noise.
    Each entry of Neville's table of extrapolations is compared with the two entries it is computed from; for each
    component the entry with the smallest difference is used. This difference, or the effect of the noise on the entry
    if that is larger, is the uncertainty; its minimum over the table is the noise floor of the derivative.
    """
    widths = steps.reshape(-1, *([1] * (forward.ndim - 1)))
    estimates = list((forward - backward) / (2.0 * widths))
    return _extrapolated(estimates, list(noise / steps), float(steps[0] / steps[1]) ** 2)


def derivative_gap(steps: Floats, middle: NDArray, forward: NDArray, backward: NDArray, noise: float = 0.0) -> NDArray:
    """Difference of the derivatives from the two sides: zero for a smooth function, else the height of the kink.

    A force that jumps at a cutoff gives the energy a kink. If the kink lies within the smallest step, central
    differences give the mean of both sides at every step and do not show it.
    """
    widths = steps.reshape(-1, *([1] * (forward.ndim - 1)))
    ratio, errors = float(steps[0] / steps[1]), list(2.0 * noise / steps)
    right, _ = _extrapolated(list((forward - middle) / widths), errors, ratio)
    left, _ = _extrapolated(list((middle - backward) / widths), errors, ratio)
    return np.abs(right - left)


def _extrapolated(estimates: list[NDArray], errors: list[float], factor: float) -> tuple[NDArray, NDArray]:
    """Neville's table over estimates at decreasing steps, whose error decreases by powers of `factor` at each step.

    `errors` are the effects of noise on the estimates. Without them, a step so small that the function does not change
    would look exact.
    """
    best = np.array(estimates[0], dtype=float)
    uncertainty = np.full(best.shape, np.inf)
    # Estimates without extrapolation are candidates too: for a noisy function the largest step is the best one.
    for k in range(1, len(estimates)):
        _keep_better(best, uncertainty, estimates[k], np.maximum(np.abs(estimates[k] - estimates[k - 1]), errors[k]))
    for order in range(1, len(estimates)):
        power = factor**order
        column = [(power * b - a) / (power - 1.0) for a, b in pairwise(estimates)]
        errors = [(power * b + a) / (power - 1.0) for a, b in pairwise(errors)]
        for k, value in enumerate(column):
            difference = np.maximum(np.abs(value - estimates[k]), np.abs(value - estimates[k + 1]))
            _keep_better(best, uncertainty, value, np.maximum(difference, errors[k]))
        estimates = column
    return best, uncertainty


def _keep_better(best: NDArray, uncertainty: NDArray, value: NDArray, its_uncertainty: NDArray) -> None:
    better = its_uncertainty < uncertainty
    best[better] = value[better]
    uncertainty[better] = its_uncertainty[better]
