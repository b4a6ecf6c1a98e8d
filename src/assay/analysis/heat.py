"""What the temperatures of a run (K, one for each frame) say about it: explosions, heat that stays, cold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.analysis.motion import HOTTER, LEAP
from assay.structure import Floats

EXPLOSION, OVERHEATING = "explosion", "overheating"

WARM = 1.5
"""A mean temperature this many times what it should be, beyond what a few atoms do by chance, is overheating."""

COLD = 0.3
"""A run whose temperature is below this part of what it should be does not move."""

Event = tuple[int, str, str]
"""The frame of what happens, its kind, and the reason."""


def explosions(heat: Floats, target: float) -> list[Event]:
    """Temperatures beyond all bounds, and leaps."""
    hot = heat > target + HOTTER
    leap = np.zeros(len(heat), dtype=bool)
    leap[1:] = (heat[:-1] > 0.0) & (heat[1:] > np.maximum(LEAP * heat[:-1], 3.0 * target))
    frames = np.flatnonzero(hot | leap)
    return [(int(f), EXPLOSION, f"the temperature is {heat[f]:.0f} K") for f in frames[:1]]


def overheating(
    heat: Floats, target: float, freedom: int, expected: int, exploded: Sequence[Event] = ()
) -> list[Event]:
    """A temperature that is too high for ten frames, or a twentieth of the run if that is more, and stays so.

    Heat that comes from a strained start, and goes, is none; nor is heat that grows into an explosion sooner.
    A few atoms are now and then far hotter than the mean, by the square root of 2 / freedom, and stay so for a while:
    successive frames are taken for one sample, because it is not known how far apart they are.
    """
    width = min(max(10, expected // 20), len(heat))
    if width < 3:
        return []
    limit = target * (WARM + 5.0 * np.sqrt(2.0 / max(freedom, 1)))
    sums = np.concatenate([[0.0], np.cumsum(heat)])
    means = (sums[width:] - sums[:-width]) / width
    later = (sums[-1] - sums[: len(means)]) / np.arange(len(heat), width - 1, -1)
    high = np.flatnonzero((means > limit) & (later > limit))
    if not len(high):
        return []
    start = int(high[0])
    frame = start + int(np.argmax(heat[start : start + width] > limit))
    if any(e < frame + width and heat[e:].mean() > target + HOTTER for e, *_ in exploded):
        return []
    return [(frame, OVERHEATING, f"the temperature stays near {later[start]:.0f} K")]


def cold(heat: Floats, target: float) -> str:
    """Why a run is too cold for thermal motion, by its second half; empty if it is not."""
    late = heat[len(heat) // 2 :]
    if len(heat) < 10 or late.mean() >= COLD * target:
        return ""
    return f"the temperature is {late.mean():.0f} K"
