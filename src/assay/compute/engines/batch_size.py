"""The best size of a batch, from measured times and memory."""

from __future__ import annotations

from dataclasses import dataclass, field

LADDER = (1, 64, 256, 1024, 4096, 16384)
"""Batch sizes in atoms; a rung is an index into this list. Rung 0 is one structure at a time with the calculator."""

GAIN = 0.9
"""The next larger size is tried if the last increase reduced the time per atom to less than this fraction."""

MEMORY_SHARE = 0.5
"""A larger batch is tried only if it is expected to need less than this fraction of the free memory."""

SPOT_CHECKS = 3
"""Structures of the first batch of each width that are compared with the calculator."""


def width_of(atoms: int) -> int:
    """Structures of up to 1, 2, 4, 8, … atoms may share a batch: the smallest of these numbers that is large enough."""
    return 1 << max(atoms - 1, 0).bit_length()


@dataclass
class BatchSize:
    """Chooses the batch size for structures of similar size, from the time per atom on each rung of the ladder."""

    seconds: dict[int, float] = field(default_factory=dict)
    """The shortest time per atom on each rung."""

    calls: dict[int, int] = field(default_factory=dict)
    ceiling: int = len(LADDER) - 1
    """The highest rung that fits into memory."""

    megabytes: float = 0.0
    """Memory of the last batch."""

    given_up: str = ""
    """Why structures of this size are not evaluated in batches any more; empty as long as they are."""

    disagreements: int = 0
    """Structures that failed in a batch and succeeded with the calculator."""

    shortest: float = 0.0
    """Time (s) of the fastest batch on rung 1; a batch of a few structures takes about as long."""

    def rung(self, waiting: int = LADDER[-1]) -> int:
        """The rung to use next for this number of waiting atoms; not higher than needed for all of them."""
        rung = self._best_or_next()
        while rung > 1 and LADDER[rung - 1] >= waiting:
            rung -= 1
        few = rung == 1 and 0 in self.seconds and waiting < LADDER[1]
        return 0 if few and waiting * self.seconds[0] < self.shortest else rung

    def _best_or_next(self) -> int:
        """The next higher rung if larger batches are still faster and fit into memory, else the fastest rung."""
        tried = [r for r in sorted(self.seconds) if r > 0]
        top = tried[-1] if tried else 0
        if top and self.calls.get(top, 0) < 2 and top <= self.ceiling:
            return top  # the first call at a new size may compile, so a second call is timed
        faster = len(tried) < 2 or self.seconds[top] < GAIN * self.seconds[tried[-2]]
        if faster and top < self.ceiling and self._fits(top):
            return top + 1
        usable = [r for r in self.seconds if r <= self.ceiling]
        return min(usable, key=lambda r: self.seconds[r]) if usable else 0

    def record(self, rung: int, seconds: float, atoms: int = 1) -> None:
        """Record the time of one batch; the shortest time of each rung counts."""
        each = seconds / max(atoms, 1)
        self.seconds[rung] = min(each, self.seconds.get(rung, each))
        self.calls[rung] = self.calls.get(rung, 0) + 1
        if rung == 1:
            self.shortest = min(seconds, self.shortest or seconds)

    def _fits(self, top: int) -> bool:
        """True if the next rung should fit into memory, estimated from the last batch."""
        growth = LADDER[top + 1] / LADDER[top]
        return top == 0 or growth * self.megabytes <= MEMORY_SHARE * free_megabytes()


def rung_below(atoms: int) -> int:
    """The highest rung with batches smaller than this number of atoms."""
    return max(r for r, size in enumerate(LADDER) if size < max(atoms, 2))


def free_megabytes() -> float:
    """Free memory of the machine in MB."""
    import psutil

    return float(psutil.virtual_memory().available) / 1e6


def peak_megabytes_since_start() -> float:
    """Peak memory of this process since it started, in MB."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def held_megabytes() -> float:
    """Current memory of this process in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6
