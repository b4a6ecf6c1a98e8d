"""Averages over a trajectory, with standard errors that take the correlation of neighbouring frames into account.

Cite: Flyvbjerg and Petersen, J. Chem. Phys. 91, 461 (1989), blocking; Geyer, Stat. Sci. 7, 473 (1992), where to end the
sum of autocorrelations; Chodera, J. Chem. Theory Comput. 12, 1799 (2016), how much of the start to discard.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.structure import Floats


class Average(NamedTuple):
    """A mean, its standard error (None if unknown), and the number of independent values in the series."""

    value: float
    stderr: float | None
    independent: float


def statistical_inefficiency(series: Floats) -> float:
    """Number of successive values that equal one independent value: 1 + 2 Σ autocorrelation, at least 1.

    The sum ends where the sum of two successive terms is not positive: later terms are only noise.
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
    falling = np.minimum.accumulate(pairs)  # the true sums decrease, so any increase is noise
    return max(1.0, float(2.0 * falling.sum() - 1.0))


def average(series: Floats) -> Average:
    """The mean of a stationary series, with a standard error for correlated values."""
    values = np.asarray(series, dtype=float)
    if not len(values):
        return Average(float("nan"), None, 0.0)
    mean = float(values.mean())
    if len(values) < 4:
        return Average(mean, None, 1.0)
    independent = len(values) / statistical_inefficiency(values)
    if independent < 2.0:
        return Average(mean, None, independent)
    return Average(mean, float(values.std(ddof=1) / np.sqrt(independent)), independent)


def equilibration_length(series: Floats, candidates: int = 20) -> int:
    """Number of values to discard at the start of a series, so that the rest has the most independent values.

    At most half of the series is discarded.
    """
    values = np.asarray(series, dtype=float)
    if len(values) < 8:
        return 0
    starts = np.unique(np.linspace(0, len(values) // 2, candidates).astype(int))
    independent = [(len(values) - start) / statistical_inefficiency(values[start:]) for start in starts]
    return int(starts[int(np.argmax(independent))])


def drift(times: Floats, series: Floats) -> Average:
    """The slope of a series over time, from a straight-line fit; the standard error is for correlated residuals."""
    x, y = np.asarray(times, dtype=float), np.asarray(series, dtype=float)
    if len(x) < 4:
        return Average(float("nan"), None, 0.0)
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    residuals = y - y.mean() - slope * centred
    inefficiency = statistical_inefficiency(residuals)
    independent = len(x) / inefficiency
    if independent <= 3.0:
        return Average(slope, None, independent)
    variance = float(residuals @ residuals) / (len(x) - 2)
    return Average(slope, float(np.sqrt(variance * inefficiency / spread)), independent)
