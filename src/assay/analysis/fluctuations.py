"""Thermal fluctuation of a coordinate, compared with the expected one, sqrt(kT / stiffness).

A vibration keeps its amplitude until friction changes it. The mean of its squared displacement converges within a few
periods, but only to the value of this one amplitude. A sum of autocorrelations that ends at the first negative term
does not show this. Therefore the number of independent amplitudes is limited to what friction can produce.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from assay.analysis.blocks import Average, average, drift, equilibration_length
from assay.structure import Floats
from assay.units import BOLTZMANN

LEAST_RATIO = 1e-3
"""A fluctuation below this fraction of the expected one counts as zero."""

UNKNOWN = 0.5
"""The largest standard error of the logarithm of the ratio: two of them are a factor of e."""


class Spread(NamedTuple):
    """A fluctuation (Å), its ratio to the expected one, and the logarithm of the ratio with its standard error."""

    value: float
    ratio: float
    log_ratio: float
    log_stderr: float

    def values(self) -> dict[str, float]:
        """The values of a case, by name."""
        return {
            "fluctuation": self.value,
            "fluctuation_ratio": self.ratio,
            "fluctuation_error": abs(self.log_ratio),
        }

    def errors(self) -> dict[str, float | None]:
        """Standard errors of the values."""
        sizes = (self.value, self.ratio, 1.0)
        return {name: size * self.log_stderr for name, size in zip(self.values(), sizes, strict=True)}

    def tolerance(self, usual: float) -> dict[str, float]:
        """The tolerance of `fluctuation_error`: the usual one, or twice its standard error if that is more."""
        return {"fluctuation_error": max(usual, 2.0 * self.log_stderr)}

    @property
    def allowed_factor(self) -> float:
        """The factor by which a sound model may exceed the expected fluctuation in a run of this length."""
        return exp(2.0 * self.log_stderr)


def harmonic_spread(stiffness: float, kelvin: float) -> float:
    """Root mean square fluctuation (Å) of a classical harmonic coordinate with a stiffness in eV/Å²."""
    return sqrt(BOLTZMANN * kelvin / stiffness)


def without_warm_up(series: Sequence[Floats], drop: bool) -> list[Floats]:
    """Series of several runs, each without the equilibration at its start; unchanged if `drop` is false."""
    return [values[equilibration_length(values) :] if drop else values for values in series]


def pooled(averages: Sequence[Average]) -> Average:
    """The mean over runs with different seeds.

    Its standard error is the larger of two: from the differences between the runs, and from the errors of the runs.
    """
    values = np.array([a.value for a in averages])
    stderrs = [a.stderr for a in averages if a.stderr is not None]
    within = sqrt(sum(e * e for e in stderrs)) / len(stderrs) if stderrs and len(stderrs) == len(averages) else None
    between = float(values.std(ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    errors = [error for error in (within, between) if error is not None]
    return Average(float(values.mean()), max(errors, default=None), float(sum(a.independent for a in averages)))


def absolute_mean(averages: Sequence[Average]) -> Average:
    """The mean of the absolute values over runs, so that a rise and a fall do not cancel."""
    return pooled([a._replace(value=abs(a.value)) for a in averages])


def independent_amplitudes(picoseconds: float, friction: float, modes: int = 1) -> float:
    """Number of independent amplitudes in a run: an amplitude decorrelates within 1 / friction (1/ps)."""
    return max(modes * 0.5 * friction * picoseconds, 1.0)


def spread(squares: Sequence[Floats], expected: float, samples: float) -> Spread:
    """The fluctuation from squared displacements (Å²) of several runs, compared with the expected one (Å).

    `samples` is the number of independent amplitudes in all runs. The standard deviation of a squared amplitude equals
    its mean.
    """
    variance = pooled([average(values) for values in squares])
    value = sqrt(max(variance.value, 0.0))
    ratio = value / expected
    if ratio <= LEAST_RATIO:
        return Spread(value, ratio, log(LEAST_RATIO), 0.0)
    relative_error = (variance.stderr or 0.0) / variance.value
    return Spread(value, ratio, log(ratio), min(0.5 * max(relative_error, 1.0 / sqrt(samples)), UNKNOWN))


def energy_fluctuations(potential: Floats, kinetic: Floats) -> tuple[float, float]:
    """The fluctuation of the kinetic energy (eV), and the relative fluctuation of the total energy.

    The latter is divided by the larger fluctuation of kinetic and potential energy: near 0 if energy is conserved, 1 if
    kinetic and potential energy do not depend on each other.
    """
    total = float(np.std(potential + kinetic))
    largest = max(float(np.std(kinetic)), float(np.std(potential)))
    return float(np.std(kinetic)), total / largest if largest > 0.0 else 1.0


def drift_with_memory(times: Floats, series: Floats, memory: float) -> Average:
    """The slope of a series whose values may stay correlated for as long as `memory` (unit of `times`).

    Fast oscillations hide slow correlations. Therefore the standard error counts at most one independent value for
    each `memory` of time.
    """
    slope = drift(times, series)
    if len(times) < 4:
        return slope
    length = float(times[-1] - times[0])
    residuals = series - series.mean() - slope.value * (times - times.mean())
    least = float(np.std(residuals)) * sqrt(12.0) / (length * sqrt(max(length / memory, 1.0)))
    return slope._replace(stderr=max(slope.stderr or 0.0, least))
