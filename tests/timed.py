"""Models that need a known time for each evaluation, on a clock that only they move: nothing depends on the machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from ase import Atoms

from assay.compute.probes import sample, timing
from assay.structure import Floats, Structure
from toys import Toy


class Clock:
    """A clock that stands still until somebody moves it (s)."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time (s)."""
        return self.now

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


def clock_of_the_probe(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the probes `timing` and `sample` read from now on."""
    clock = Clock()
    for probe in (timing, sample):
        monkeypatch.setattr(probe, "clock_of", lambda device: clock)
    return clock


class Slow(Toy):
    """Takes a time for each atom (s), and writes down how many atoms it was asked for."""

    def __init__(self, clock: Clock, each: float = 2e-4, asked: list[int] | None = None) -> None:
        super().__init__()
        self.clock, self.each, self.asked = clock, each, [] if asked is None else asked

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Nothing, after a while."""
        self.asked.append(len(atoms))
        self.clock.move(self.each * len(atoms))
        return super().answer(atoms)


class SlowBatch:
    """Takes no longer for many structures than for one: 0.2 ms for each atom of one."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Nothing, after a while."""
        self.clock.move(2e-4 * len(structures[0]))
        return [(0.0, np.zeros((len(s), 3))) for s in structures]


def gas(atoms: int, side: float = 0.0) -> Structure:
    """A structure with this number of atoms at random places, in a periodic box if it has a side (Å)."""
    positions = np.random.default_rng(atoms).uniform(0.0, 20.0, (atoms, 3))
    return Structure.build([29] * atoms, positions, np.eye(3) * side, "TTT" if side else "FFF")
