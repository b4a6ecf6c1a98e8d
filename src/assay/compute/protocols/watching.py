"""What a benchmark watches during a run, to end it when enough is known: in memory that does not grow with the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.analysis.blocks import average
from assay.analysis.motion import watched_quantity
from assay.jobs import Dynamics
from assay.structure import Floats

EARLIEST_STOP = 0.2
"""A run is not stopped for being sure enough before this part of it is done, and looked at again at every 2 %."""

MOST_BLOCKS = 2048
"""More means than this are not kept: then each two neighbours become one, and new ones are of twice as many frames."""


@dataclass
class Watching:
    """Means (Å) of what is watched over successive blocks of frames, one frame each at first.

    Means of blocks have the mean and, since their correlation is counted, the standard error of the frames. So blocks
    lose nothing, and a checkpoint has the same size at the start and at the end of a run.
    """

    job: Dynamics
    means: list[list[float]] = field(default_factory=list)
    length: int = 1
    """Frames in a block."""

    begun: int = 0
    """Frames in the block that is not full yet, of which `total` is the sum."""

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.job.watch))

    @property
    def frames(self) -> int:
        """How many have been seen."""
        return len(self.means) * self.length + self.begun

    def add(self, positions: Floats) -> None:
        """Look at a frame."""
        if self.job.until_error is None or not self.job.watch:
            return
        self.total += [watched_quantity(watch, positions) for watch in self.job.watch]
        self.begun += 1
        if self.begun < self.length:
            return
        self.means.append((self.total / self.length).tolist())
        self.total[:], self.begun = 0.0, 0
        if len(self.means) >= MOST_BLOCKS:
            self.means = np.array(self.means).reshape(-1, 2, len(self.job.watch)).mean(axis=1).tolist()
            self.length *= 2

    @property
    def sure(self) -> bool:
        """True when it is time to look and the standard errors of all that is watched are small enough."""
        planned = self.job.steps // self.job.interval + 1
        if self.job.until_error is None or not self.means:
            return False
        if self.frames < EARLIEST_STOP * planned or self.frames % max(planned // 50, 1):
            return False
        errors = [average(column).stderr for column in np.array(self.means).T]
        return all(error is not None and error < self.job.until_error for error in errors)

    def state(self) -> dict[str, Any]:
        """What a later process needs to go on watching."""
        means = np.array(self.means, dtype=float).reshape(len(self.means), len(self.job.watch))
        return {"watched": means, "watched_total": self.total, "watched_counts": [self.length, self.begun]}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Know again what an earlier process had seen."""
        self.means, self.total = np.asarray(saved["watched"]).tolist(), np.array(saved["watched_total"])
        self.length, self.begun = saved["watched_counts"]
