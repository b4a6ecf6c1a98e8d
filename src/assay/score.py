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
    """Mean and standard error of the mean; both are None without values, and the error is None for one value."""
    if not values:
        return None, None
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, None
    spread = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return mean, math.sqrt(spread / len(values))


def combine(parts: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """The mean of all scores that are not None; their standard errors are combined as independent errors."""
    scored = [(score, error) for score, error in parts if score is not None]
    if not scored:
        return None, None
    mean = math.fsum(score for score, _ in scored) / len(scored)
    errors = [error for _, error in scored if error is not None]
    return mean, (math.sqrt(math.fsum(e * e for e in errors)) / len(scored) if errors else None)


def grade(error: float, floor: float, tolerance: float) -> str:
    """A grade for the size of an error: A up to ten times the noise floor, F above the tolerance.

    B, C and D divide the range between into three equal parts on a logarithmic scale, so that each grade covers the
    same factor, for any precision of the model.
    """
    if not math.isfinite(error) or error > tolerance:
        return "F"
    start = 10.0 * floor
    if error <= start or start >= tolerance:
        return "A"
    if start <= 0.0:
        return "D"  # without a noise floor there is no scale for B and C
    fraction = math.log(error / start) / math.log(tolerance / start)
    return "BCD"[min(2, int(3.0 * fraction))]
