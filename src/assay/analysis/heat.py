"""What happens to a run, as its temperatures (K, one for each frame) show it: explosions, overheating, cold runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis.motion import HOTTER, LEAP
from assay.structure import Floats

EXPLOSION, OVERHEATING = "explosion", "overheating"

WARM = 1.5
"""A run overheats if its mean temperature exceeds the target by this factor, beyond the fluctuation of a few atoms."""

COLD = 0.3
"""A run whose temperature is below this fraction of the target does not move."""


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


def overheating(
    kelvin: Floats, target: float, freedom: int, expected: int, exploded: Sequence[Event] = ()
) -> list[Event]:
    """A temperature that is too high for ten frames, or 5 % of the run if that is more, and remains too high.

    A strained start that heats the run for a short time is not overheating, nor is heat that ends in an explosion
    within that time. A small system has large fluctuations of the temperature, sqrt(2 / freedom) relative to the mean,
    which may last many frames: successive frames count as one sample, because the time between them is not known.
    """
    width = min(max(10, expected // 20), len(kelvin))
    if width < 3:
        return []
    limit = target * (WARM + 5.0 * np.sqrt(2.0 / max(freedom, 1)))
    sums = np.concatenate([[0.0], np.cumsum(kelvin)])
    means = (sums[width:] - sums[:-width]) / width
    later = (sums[-1] - sums[: len(means)]) / np.arange(len(kelvin), width - 1, -1)
    high = np.flatnonzero((means > limit) & (later > limit))
    if not len(high):
        return []
    start = int(high[0])
    frame = start + int(np.argmax(kelvin[start : start + width] > limit))
    if any(event.frame < frame + width and kelvin[event.frame :].mean() > target + HOTTER for event in exploded):
        return []
    return [Event(frame, OVERHEATING, f"the temperature stays near {later[start]:.0f} K")]


def too_cold(kelvin: Floats, target: float) -> str:
    """Why the second half of a run is too cold for thermal motion; empty if it is not."""
    late = kelvin[len(kelvin) // 2 :]
    if len(kelvin) < 10 or late.mean() >= COLD * target:
        return ""
    return f"the temperature is {late.mean():.0f} K"
