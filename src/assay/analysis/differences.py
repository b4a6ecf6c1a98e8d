"""Derivatives from values at a ladder of steps, with an uncertainty that knows nothing of the answer expected."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats


def extrapolated_derivative(
    steps: Floats, forward: NDArray, backward: NDArray, noise: float = 0.0
) -> tuple[NDArray, NDArray]:
    """Derivative and its uncertainty by central differences at falling steps, extrapolated to zero step.

    `forward[k]` and `backward[k]` are the function (any shape) at +steps[k] and −steps[k]; steps fall by one constant
    factor; `noise` is how far a value may be off. Large steps suffer from curvature and small ones from noise: in
    Neville's table of extrapolations each entry is compared with its two parents, and for each component the entry
    that agrees best with its parents is taken. Their disagreement, or what the noise does to the entry if that is
    more, is the uncertainty; its minimum over the scan is the noise floor of the derivative.
    """
    spread = steps.reshape(-1, *([1] * (forward.ndim - 1)))
    estimates = list((forward - backward) / (2.0 * spread))
    return _extrapolated(estimates, list(noise / steps), float(steps[0] / steps[1]) ** 2)


def derivative_gap(steps: Floats, middle: NDArray, forward: NDArray, backward: NDArray, noise: float = 0.0) -> NDArray:
    """How far the derivatives from the two sides lie apart: zero for a smooth function, the size of a kink at one.

    A force that steps at a cutoff gives the energy a kink. If it lies within the smallest step, central differences
    give the mean of both sides, and no step can tell.
    """
    spread = steps.reshape(-1, *([1] * (forward.ndim - 1)))
    ratio, blur = float(steps[0] / steps[1]), list(2.0 * noise / steps)
    right, _ = _extrapolated(list((forward - middle) / spread), blur, ratio)
    left, _ = _extrapolated(list((middle - backward) / spread), blur, ratio)
    return np.abs(right - left)


def _extrapolated(estimates: list[NDArray], blur: list[float], factor: float) -> tuple[NDArray, NDArray]:
    """Neville's table over estimates at falling steps, whose error falls by powers of `factor` from step to step.

    `blur` is what noise does to each estimate. Without it, a step so small that the function does not change any more
    would seem exact.
    """
    best = np.array(estimates[0], dtype=float)
    uncertainty = np.full(best.shape, np.inf)
    # The plain estimates count too: for a noisy function no extrapolation beats the largest step.
    for k in range(1, len(estimates)):
        _keep_better(best, uncertainty, estimates[k], np.maximum(np.abs(estimates[k] - estimates[k - 1]), blur[k]))
    for order in range(1, len(estimates)):
        power = factor**order
        column = [(power * b - a) / (power - 1.0) for a, b in pairwise(estimates)]
        blur = [(power * b + a) / (power - 1.0) for a, b in pairwise(blur)]
        for k, value in enumerate(column):
            doubt = np.maximum(np.abs(value - estimates[k]), np.abs(value - estimates[k + 1]))
            _keep_better(best, uncertainty, value, np.maximum(doubt, blur[k]))
        estimates = column
    return best, uncertainty


def _keep_better(best: NDArray, uncertainty: NDArray, value: NDArray, doubt: NDArray) -> None:
    better = doubt < uncertainty
    best[better] = value[better]
    uncertainty[better] = doubt[better]
