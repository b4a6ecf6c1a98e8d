"""What happens to a run, as its temperatures (K, one for each frame) show it: explosions, overheating, cold runs.

The temperature of a sound run fluctuates by sqrt(2 / f) of its mean, where f is the number of degrees of freedom. A
thermostat with the friction γ renews it within 1 / (2 γ), so that a run of the time t has γ t independent temperatures.
Hence the error of a mean temperature is known before the run: f γ t times the mean over the target follows a chi-square
distribution with f γ t degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.motion import HOTTER, LEAP
from assay.structure import Floats

EXPLOSION, OVERHEATING = "explosion", "overheating"

WARM, COLD = 1.2, 0.75
"""A mean temperature within these multiples of the target is not reported, even if it differs significantly."""

SIGMAS = 4.0
"""A mean temperature differs from the target if a sound run would show it with the probability of 4 sigmas: 3e-5."""

TELLING, MISSED = 2.0, 2.0
"""A run is too short if `TELLING` times the target temperature may look like the target: if a mean temperature that is
too low by `MISSED` sigmas, which has a probability of 2 %, would not differ from it significantly."""


class Event(NamedTuple):
    """Something that went wrong in a run: the frame, the kind and the reason."""

    frame: int
    kind: str
    reason: str


def explosions(kelvin: Floats, target: float) -> list[Event]:
    """The first frame that is far too hot or whose temperature has jumped; empty if there is none."""
    hot = kelvin > target + HOTTER
    leap = np.zeros(len(kelvin), dtype=bool)
    leap[1:] = (kelvin[:-1] > 0.0) & (kelvin[1:] > np.maximum(LEAP * kelvin[:-1], 3.0 * target))
    frames = np.flatnonzero(hot | leap)
    return [Event(int(f), EXPLOSION, f"the temperature is {kelvin[f]:.0f} K") for f in frames[:1]]


def independent_temperatures(frames: int | NDArray[np.int64], renewal: float) -> Floats:
    """Independent temperatures in a number of frames; `renewal` is the friction times the time between frames."""
    return np.maximum(np.asarray(frames) * min(renewal, 1.0), 1.0)


def temperature_limit(freedom: int, independent: float | Floats, sigmas: float) -> Floats:
    """The mean temperature over the target that a sound run exceeds with the probability of so many sigmas.

    The chi-square distribution in the approximation of Wilson and Hilferty; negative sigmas give the lower limit.
    """
    part = 2.0 / (9.0 * max(freedom, 1) * np.asarray(independent))
    return np.asarray(np.maximum(1.0 - part + sigmas * np.sqrt(part), 0.0) ** 3)


def too_short(frames: int, freedom: int, renewal: float) -> bool:
    """True if a run of this length would not show for sure that its temperature is twice the target."""
    independent = independent_temperatures(frames, renewal)
    highest, lowest = (float(temperature_limit(freedom, independent, sigmas)) for sigmas in (SIGMAS, -MISSED))
    return frames < 10 or highest > TELLING * lowest


def overheating(
    kelvin: Floats, target: float, freedom: int, expected: int, renewal: float, exploded: Sequence[Event] = ()
) -> list[Event]:
    """A mean temperature from some frame to the end that is above the target by more than its error allows.

    A strained start that heats the run for a short time is not overheating: the second half of these frames must be too
    hot as well. Nor is heat that ends in an explosion within ten frames (5 % of the run if that is more).
    """
    width = min(max(10, expected // 20), len(kelvin))
    if width < 3:
        return []
    sums = np.concatenate([[0.0], np.cumsum(kelvin)])
    starts = np.arange(len(kelvin) - width + 1)
    counts = len(kelvin) - starts
    middles = starts + counts // 2
    means, late = (sums[-1] - sums[starts]) / counts, (sums[-1] - sums[middles]) / (len(kelvin) - middles)
    independent = independent_temperatures(counts, renewal)
    limit = target * np.maximum(WARM, temperature_limit(freedom, independent, SIGMAS))
    high = (means > limit) & (late > WARM * target)
    if not high.any():
        return []
    hot = float(means[int(np.argmax(np.where(high, (means - target) * np.sqrt(independent), 0.0)))])
    frame = _heated_since(kelvin, max(WARM * target, float(np.sqrt(target * hot))), width, means)
    if any(event.frame < frame + width and kelvin[event.frame :].mean() > target + HOTTER for event in exploded):
        return []
    return [Event(frame, OVERHEATING, f"the temperature stays near {hot:.0f} K")]


def _heated_since(kelvin: Floats, limit: float, width: int, means: Floats) -> int:
    """The first frame above a limit (K) from which `width` frames and all later frames are above it on average."""
    sums = np.concatenate([[0.0], np.cumsum(kelvin)])
    windows = (sums[width:] - sums[:-width]) / width
    start = int(np.argmax((windows > limit) & (means > limit)))
    return start + int(np.argmax(kelvin[start : start + width] > limit))


def too_cold(kelvin: Floats, target: float, freedom: int, renewal: float) -> str:
    """Why the second half of a run is too cold, by more than the error of its mean allows; empty if it is not.

    A run that starts at rest in a minimum gives half of its kinetic energy to its bonds and is warmed up by the
    thermostat: the expected temperature is that of a harmonic system, target (1 − exp(−γ t) / 2).
    """
    start = len(kelvin) // 2
    if len(kelvin) < 10:
        return ""
    mean, frames = float(kelvin[start:].mean()), np.arange(start, len(kelvin))
    expected = target * float(1.0 - 0.5 * np.exp(-renewal * frames).mean())
    independent = independent_temperatures(len(frames), renewal)
    limit = min(COLD, float(temperature_limit(freedom, independent, -SIGMAS)))
    return f"the temperature is {mean:.0f} K" if mean < limit * expected else ""
