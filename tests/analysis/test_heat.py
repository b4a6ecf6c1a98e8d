"""Temperatures of runs: what is hot or cold follows from the known error of a mean temperature."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.heat import overheating, too_cold, too_short
from assay.structure import Floats

TARGET, FRICTION, SPACING = 300.0, 2.0, 0.02


def temperatures(atoms: int, frames: int, kelvin: float, seed: int) -> Floats:
    """The temperatures (K) of harmonic oscillators in a Langevin thermostat of 2/ps, a frame every 20 fs."""
    random, count = np.random.default_rng(seed), 3 * atoms
    turn = np.exp((-0.5 * FRICTION + 1j * random.uniform(50.0, 600.0, count)) * SPACING)
    noise = np.sqrt(1.0 - np.exp(-FRICTION * SPACING))
    amplitude = random.standard_normal(count) + 1j * random.standard_normal(count)
    found = np.zeros(frames)
    for frame in range(frames):
        found[frame] = kelvin * np.mean(amplitude.imag**2)
        amplitude = turn * amplitude + noise * (random.standard_normal(count) + 1j * random.standard_normal(count))
    return found


@pytest.mark.parametrize(("atoms", "frames"), [(3, 200), (3, 1000), (10, 50), (10, 200), (42, 50), (42, 200)])
def test_a_run_is_too_short_or_twice_the_temperature_shows(atoms: int, frames: int) -> None:
    freedom, renewal = 3 * atoms, FRICTION * SPACING
    for seed in range(20):
        right, hot = (temperatures(atoms, frames, kelvin, seed) for kelvin in (TARGET, 2.0 * TARGET))
        assert not overheating(right, TARGET, freedom, frames, renewal)
        assert not too_cold(right, TARGET, freedom, renewal)
        assert too_short(frames, freedom, renewal) or overheating(hot, TARGET, freedom, frames, renewal)
    assert too_short(frames, freedom, renewal) == (freedom * frames * renewal < 140.0)


def test_a_third_of_the_temperature_is_too_cold() -> None:
    for seed in range(20):
        assert too_cold(temperatures(10, 200, TARGET / 3.0, seed), TARGET, 30, FRICTION * SPACING)
