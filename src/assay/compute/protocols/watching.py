"""Quantities that are watched during a run, to end it when they are precise enough. The memory use is constant."""

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
"""A run may end early only after this fraction of its frames; the error is computed every 2 % of the frames."""

MOST_BLOCKS = 2048
"""If there are more block means than this, neighbours are merged in pairs and the block length doubles."""


@dataclass
class Watching:
    """Means (Å) of the watched quantities over successive blocks of frames; a block starts with one frame.

    Block means have the same mean as the frames and, because their correlation is taken into account, the same standard
    error. So blocks lose nothing, and a checkpoint has the same size at the start and at the end of a run.
    """

    job: Dynamics
    means: list[list[float]] = field(default_factory=list)
    length: int = 1
    """Frames in a block."""

    in_block: int = 0
    """Frames in the current block, which is not complete; `total` is their sum."""

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.job.watch))

    @property
    def frames(self) -> int:
        """Number of frames so far."""
        return len(self.means) * self.length + self.in_block

    def add(self, positions: Floats) -> None:
        """Add a frame."""
        if self.job.until_error is None or not self.job.watch:
            return
        self.total += [watched_quantity(watch, positions) for watch in self.job.watch]
        self.in_block += 1
        if self.in_block < self.length:
            return
        self.means.append((self.total / self.length).tolist())
        self.total[:], self.in_block = 0.0, 0
        if len(self.means) >= MOST_BLOCKS:
            self.means = np.array(self.means).reshape(-1, 2, len(self.job.watch)).mean(axis=1).tolist()
            self.length *= 2

    @property
    def precise_enough(self) -> bool:
        """True if this is a frame to check and the standard errors of all watched quantities are small enough."""
        planned = self.job.steps // self.job.interval + 1
        if self.job.until_error is None or not self.means:
            return False
        if self.frames < EARLIEST_STOP * planned or self.frames % max(planned // 50, 1):
            return False
        errors = [average(column).stderr for column in np.array(self.means).T]
        return all(error is not None and error < self.job.until_error for error in errors)

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to continue."""
        means = np.array(self.means, dtype=float).reshape(len(self.means), len(self.job.watch))
        return {"watched": means, "watched_total": self.total, "watched_counts": [self.length, self.in_block]}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from the state that an earlier process saved."""
        self.means, self.total = np.asarray(saved["watched"]).tolist(), np.array(saved["watched_total"])
        self.length, self.in_block = saved["watched_counts"]
