"""How far heat moves a coordinate, against what it should: the square root of kT over the stiffness.

A vibration keeps its amplitude until friction changes it. Its squared displacement swings fast and looks well known
after a few periods, but it is that of one amplitude; autocorrelations that end at the first negative term do not see
this. So no more amplitudes are counted than friction can have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from assay.analysis.blocks import Average, average, drift, equilibrated
from assay.structure import Floats
from assay.units import BOLTZMANN

LEAST_RATIO = 1e-3
"""Smaller fluctuations than this part of the expected one are all the same: none."""

UNKNOWN = 0.5
"""The largest standard error of the logarithm: a factor of e either way is within two of them."""


class Spread(NamedTuple):
    """A fluctuation (Å), its ratio to the expected one, and the logarithm of that with its standard error."""

    value: float
    ratio: float
    log_ratio: float
    log_stderr: float

    def values(self) -> dict[str, float]:
        """As values of a case."""
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
        """What `fluctuation_error` may be: as much as usual, or twice its standard error if that is more."""
        return {"fluctuation_error": max(usual, 2.0 * self.log_stderr)}

    @property
    def allowed_factor(self) -> float:
        """The factor by which the fluctuation of a sound model may exceed the expected one in a run of this length."""
        return exp(2.0 * self.log_stderr)


def harmonic_spread(stiffness: float, kelvin: float) -> float:
    """Root mean square fluctuation (Å) of a classical coordinate of so many eV/Å²."""
    return sqrt(BOLTZMANN * kelvin / stiffness)


def settled(series: Sequence[Floats], drop: bool) -> list[Floats]:
    """Series of several runs, each without its start, during which it still warms up, if that may be dropped."""
    return [values[equilibrated(values) :] if drop else values for values in series]


def pooled(averages: Sequence[Average]) -> Average:
    """The mean of runs that differ in their seed; its error is what the runs scatter, or what each admits, if more."""
    values = np.array([a.value for a in averages])
    known = [a.stderr for a in averages if a.stderr is not None]
    inner = sqrt(sum(e * e for e in known)) / len(known) if known and len(known) == len(averages) else None
    outer = float(values.std(ddof=1) / sqrt(len(values))) if len(values) > 1 else None
    errors = [error for error in (inner, outer) if error is not None]
    return Average(float(values.mean()), max(errors, default=None), float(sum(a.independent for a in averages)))


def amplitudes(picoseconds: float, friction: float, modes: int = 1) -> float:
    """How many independent amplitudes a run has seen: they are forgotten within 1 / friction (1/ps)."""
    return max(modes * 0.5 * friction * picoseconds, 1.0)


def spread(squares: Sequence[Floats], expected: float, samples: float) -> Spread:
    """The fluctuation from squared displacements (Å²) of several runs, against an expected one (Å).

    `samples` is the number of independent amplitudes in all runs; squares of amplitudes scatter as much as their mean.
    """
    variance = pooled([average(values) for values in squares])
    value = sqrt(max(variance.value, 0.0))
    ratio = value / expected
    if ratio <= LEAST_RATIO:
        return Spread(value, ratio, log(LEAST_RATIO), 0.0)
    seen = (variance.stderr or 0.0) / variance.value
    return Spread(value, ratio, log(ratio), min(0.5 * max(seen, 1.0 / sqrt(samples)), UNKNOWN))


def balance(potential: Floats, kinetic: Floats) -> tuple[float, float]:
    """How much energy moves between potential and kinetic, and how much of it gets lost on the way.

    The first is the fluctuation of the kinetic energy (eV); the second that of the sum of both, as a part of the larger
    of the two: near 0 where energy is kept, 1 where one does not answer to the other.
    """
    kept = float(np.std(potential + kinetic))
    moved = max(float(np.std(kinetic)), float(np.std(potential)))
    return float(np.std(kinetic)), kept / moved if moved > 0.0 else 1.0


def wandering(times: Floats, series: Floats, memory: float) -> Average:
    """The slope of a series, whose values may wander for as long as `memory` (unit of time) before they turn.

    Fast oscillations hide how slowly a series wanders; so its residuals count for no more independent values than
    there are memories in the time.
    """
    slope = drift(times, series)
    if len(times) < 4:
        return slope
    length = float(times[-1] - times[0])
    rest = series - series.mean() - slope.value * (times - times.mean())
    least = float(np.std(rest)) * sqrt(12.0) / (length * sqrt(max(length / memory, 1.0)))
    return slope._replace(stderr=max(slope.stderr or 0.0, least))
