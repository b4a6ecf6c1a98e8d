"""Averages over a trajectory and how sure they are, although neighbouring frames resemble each other.

Cite: Flyvbjerg and Petersen, J. Chem. Phys. 91, 461 (1989), blocking; Geyer, Stat. Sci. 7, 473 (1992), where to cut the
sum of autocorrelations; Chodera, J. Chem. Theory Comput. 12, 1799 (2016), how much of the start to drop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.structure import Floats


class Average(NamedTuple):
    """A mean with its standard error, and how many independent values it is worth."""

    value: float
    stderr: float | None
    independent: float


def inefficiency(series: Floats) -> float:
    """How many successive values are worth one independent value: 1 + 2 Σ autocorrelation, at least 1.

    The sum ends where two successive terms together are not positive any more, beyond which there is only noise.
    """
    count = len(series)
    centred = np.asarray(series, dtype=float) - np.mean(series)
    variance = float(centred @ centred) / max(count, 1)
    if count < 4 or variance <= 0.0:
        return 1.0
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    correlation = np.fft.irfft(spectrum * np.conj(spectrum), size)[:count] / (variance * count)
    pairs = correlation[: count - count % 2].reshape(-1, 2).sum(axis=1)
    ends = np.nonzero(pairs <= 0.0)[0]
    pairs = pairs[: ends[0]] if len(ends) else pairs
    falling = np.minimum.accumulate(pairs)  # the true sums fall, so a rise is noise
    return max(1.0, float(2.0 * falling.sum() - 1.0))


def average(series: Floats) -> Average:
    """The mean of a stationary series with a standard error that knows how its values hang together."""
    values = np.asarray(series, dtype=float)
    if not len(values):
        return Average(float("nan"), None, 0.0)
    mean = float(values.mean())
    if len(values) < 4:
        return Average(mean, None, 1.0)
    independent = len(values) / inefficiency(values)
    if independent < 2.0:
        return Average(mean, None, independent)
    return Average(mean, float(values.std(ddof=1) / np.sqrt(independent)), independent)


def equilibrated(series: Floats, candidates: int = 20) -> int:
    """Where the equilibrated part of a series starts: the start that leaves the most independent values.

    No more than half of the series is ever dropped.
    """
    values = np.asarray(series, dtype=float)
    if len(values) < 8:
        return 0
    starts = np.unique(np.linspace(0, len(values) // 2, candidates).astype(int))
    worth = [(len(values) - start) / inefficiency(values[start:]) for start in starts]
    return int(starts[int(np.argmax(worth))])


def drift(times: Floats, series: Floats) -> Average:
    """The slope of a series over time with its standard error, from a straight line and its correlated residuals."""
    x, y = np.asarray(times, dtype=float), np.asarray(series, dtype=float)
    if len(x) < 4:
        return Average(float("nan"), None, 0.0)
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    rest = y - y.mean() - slope * centred
    worth = inefficiency(rest)
    independent = len(x) / worth
    if independent <= 3.0:
        return Average(slope, None, independent)
    variance = float(rest @ rest) / (len(x) - 2)
    return Average(slope, float(np.sqrt(variance * worth / spread)), independent)
