"""Scores, grades and composites: pure functions of errors and thresholds."""

from __future__ import annotations

import math
from collections.abc import Sequence

STEEPNESS = 3.0
"""How fast a score falls beyond its threshold: at twice the threshold it is exp(−3) = 0.05."""


def soft_threshold(error: float, threshold: float) -> float:
    """1 up to the threshold, then exp(−3 (error − threshold)/threshold); a NaN or infinite error scores 0."""
    if not math.isfinite(error):
        return 0.0
    if error <= threshold:
        return 1.0
    return math.exp(-STEEPNESS * (error - threshold) / threshold)


def mean_score(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and standard error of the mean; no values have no mean, and one value has no standard error."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, None
    spread = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def combine(parts: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """The plain mean of scores that exist, with their standard errors propagated as independent."""
    known = [(score, error) for score, error in parts if score is not None]
    if not known:
        return None, None
    mean = math.fsum(score for score, _ in known) / len(known)
    errors = [error for _, error in known if error is not None]
    return mean, (math.sqrt(math.fsum(e * e for e in errors)) / len(known) if errors else None)


def grade(error: float, floor: float, tolerance: float) -> str:
    """A letter for the size of an error: A within ten times the noise floor, F beyond the tolerance.

    B, C and D divide what lies between into three equal parts on a logarithmic scale, so each letter costs the same
    factor, whatever the precision of the model.
    """
    if not math.isfinite(error) or error > tolerance:
        return "F"
    start = 10.0 * floor
    if error <= start or start >= tolerance:
        return "A"
    if start <= 0.0:
        return "D"  # without a floor there is no scale to be near or far on
    place = math.log(error / start) / math.log(tolerance / start)
    return "BCD"[min(2, int(3.0 * place))]
