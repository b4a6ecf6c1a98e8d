"""Averages of a bond length, or of the distance of ring atoms from their plane, with the errors that are reported.

The benchmarks use these functions for finished runs. A simulation that should end as soon as it is precise enough uses
them for its frames so far, so that it ends on the standard error that will be reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.analysis.blocks import Average, average
from assay.analysis.fluctuations import Spread, independent_amplitudes, pooled, spread, without_warm_up
from assay.jobs import Watch
from assay.structure import Floats

HALF_WIDTH = 0.8
"""The mean distance from the middle of a normal distribution, as a part of its root mean square."""


class LengthAverages(NamedTuple):
    """The mean of |d − reference| and of d (Å), the fluctuation of d, and the frames that count, run by run."""

    deviation: Average
    mean: Average
    moved: Spread
    kept: Sequence[Floats]


class PlaneAverages(NamedTuple):
    """The mean distance from the plane (Å), its root mean square, and the frames that count, run by run."""

    mean: Average
    moved: Spread
    kept: Sequence[Floats]


def length_averages(runs: Sequence[Floats], watch: Watch, spacing: float, friction: float) -> LengthAverages:
    """Averages of a bond length (Å) over runs with a frame every `spacing` ps; the friction is in 1/ps."""
    kept = without_warm_up(runs, watch.drop_start)
    squares = [(lengths - lengths.mean()) ** 2 for lengths in kept]
    moved = spread(squares, watch.expected, _amplitudes(kept, spacing, friction, 1))
    deviation = pooled([average(abs(lengths - watch.reference)) for lengths in kept])
    known = _no_better_than(deviation, HALF_WIDTH * moved.value * moved.log_stderr)
    return LengthAverages(known, pooled([average(lengths) for lengths in kept]), moved, kept)


def plane_averages(runs: Sequence[Floats], watch: Watch, spacing: float, friction: float) -> PlaneAverages:
    """Averages of the distance (Å) of ring atoms from their plane; a ring of n atoms has n − 3 modes out of it."""
    kept = without_warm_up(runs, watch.drop_start)
    samples = _amplitudes(kept, spacing, friction, len(watch.atoms) - 3)
    moved = spread([distances**2 for distances in kept], watch.expected, samples)
    mean = pooled([average(distances) for distances in kept])
    return PlaneAverages(_no_better_than(mean, mean.value * moved.log_stderr), moved, kept)


def standard_errors(runs: Sequence[Floats], watch: Watch, spacing: float, friction: float) -> list[float | None]:
    """The standard errors (Å) of the scored averages of a watched quantity; None if one is unknown."""
    if watch.kind == "distance":
        lengths = length_averages(runs, watch, spacing, friction)
        return [lengths.deviation.stderr, lengths.mean.stderr]
    return [plane_averages(runs, watch, spacing, friction).mean.stderr]


def unresolved(error: float, stderr: float | None, good: float, allowed: float = 0.0) -> bool:
    """True if a run is too short to tell whether an error is good.

    It is good up to `good`. The uncertainty of the run allows for `allowed`, or for two standard errors if that is
    more. An error above that is bad for sure.
    """
    if stderr is None:
        return True
    return error <= max(good, allowed, 2.0 * stderr) and (error > good or 2.0 * stderr > good)


def _amplitudes(kept: Sequence[Floats], spacing: float, friction: float, modes: int) -> float:
    return independent_amplitudes(sum(map(len, kept)) * spacing, friction, modes)


def _no_better_than(mean: Average, least: float) -> Average:
    """The same mean, whose error is at least that of the amplitudes; an unknown error stays unknown."""
    return mean if mean.stderr is None else mean._replace(stderr=max(mean.stderr, least))
