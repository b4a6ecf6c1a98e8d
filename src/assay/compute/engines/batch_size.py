"""How large a batch should be, which is measured and not assumed, and what memory there is."""

from __future__ import annotations

from dataclasses import dataclass, field

LADDER = (1, 64, 256, 1024, 4096, 16384)
"""Sizes of batches that are tried, in atoms; the first is one structure, by the calculator."""

GAIN = 0.9
"""The next larger size is tried as long as the last step brought the cost of an atom below this fraction."""

MEMORY_SHARE = 0.5
"""A larger batch is tried only if it is expected to need less than this share of the memory that is free."""


@dataclass
class BatchSize:
    """What is known about structures of like size: seconds per atom on each rung of the ladder, and the rung to use."""

    seconds: dict[int, float] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    ceiling: int = len(LADDER) - 1
    megabytes: float = 0.0
    shortest: float = 0.0
    """Seconds of the quickest batch on the lowest rung, which a batch of a few structures hardly undercuts."""

    def rung(self, waiting: int = LADDER[-1]) -> int:
        """The rung to use next when so many atoms are waiting: never higher than what holds all of them."""
        rung = self._best_or_next()
        while rung > 1 and LADDER[rung - 1] >= waiting:
            rung -= 1
        few = rung == 1 and 0 in self.seconds and waiting < LADDER[1]
        return 0 if few and waiting * self.seconds[0] < self.shortest else rung

    def _best_or_next(self) -> int:
        """A higher rung while it pays to climb and memory allows, else the best."""
        tried = [r for r in sorted(self.seconds) if r > 0]
        top = tried[-1] if tried else 0
        if top and self.calls.get(top, 0) < 2 and top <= self.ceiling:
            return top  # the first call at a new size may compile, the second shows the pace
        climbing = len(tried) < 2 or self.seconds[top] < GAIN * self.seconds[tried[-2]]
        if climbing and top < self.ceiling and self._fits(top):
            return top + 1
        usable = [r for r in self.seconds if r <= self.ceiling]
        return min(usable, key=lambda r: self.seconds[r]) if usable else 0

    def note(self, rung: int, seconds: float, atoms: int = 1) -> None:
        """Keep the best time of a rung."""
        each = seconds / max(atoms, 1)
        self.seconds[rung] = min(each, self.seconds.get(rung, each))
        self.calls[rung] = self.calls.get(rung, 0) + 1
        if rung == 1:
            self.shortest = min(seconds, self.shortest or seconds)

    def _fits(self, top: int) -> bool:
        """True when the next rung is expected to fit into memory, from what the last one took."""
        growth = LADDER[top + 1] / LADDER[top]
        return top == 0 or growth * self.megabytes <= MEMORY_SHARE * free_megabytes()


def rung_below(atoms: int) -> int:
    """The highest rung of smaller batches than one of so many atoms."""
    return max(r for r, size in enumerate(LADDER) if size < max(atoms, 2))


def free_megabytes() -> float:
    """Memory that this process may still take, in MB."""
    import psutil

    return float(psutil.virtual_memory().available) / 1e6


def peak_megabytes_since_start() -> float:
    """The most memory that this process has held so far, in MB."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def held_megabytes() -> float:
    """Memory that this process holds now, in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6
