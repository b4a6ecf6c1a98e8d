"""Quantities that are watched during a run, to end it when the averages that will be reported are precise enough."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from assay.analysis.motion import watched_quantity
from assay.analysis.thermal import standard_errors
from assay.jobs import Dynamics
from assay.structure import Floats

EARLIEST_STOP = 0.2
"""A run may end early only after this fraction of its frames; the error is computed every 2 % of the frames."""


@dataclass
class Watching:
    """The watched quantities (Å) of every frame so far: 8 bytes for each, as the benchmark reads them later.

    A checkpoint does not contain them. They are computed again from the frames on disk.
    """

    job: Dynamics
    series: list[array[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.series = [array("d") for _ in self.job.watch]

    def add(self, positions: Floats) -> None:
        """Add a frame, with the precision in which a trajectory keeps it."""
        if self.job.until_error is None:
            return
        stored = np.asarray(np.asarray(positions, dtype=np.float32), dtype=float)
        for series, watch in zip(self.series, self.job.watch, strict=True):
            series.append(watched_quantity(watch, stored))

    def restore(self, chunks: Iterable[Floats]) -> None:
        """Continue a run after frames that an earlier process wrote; chunks have the shape (frames, atoms, 3)."""
        if self.job.until_error is not None and self.job.watch:
            for positions in chunks:
                for frame in positions:
                    self.add(frame)

    @property
    def precise_enough(self) -> bool:
        """True if this is a frame to check and all standard errors that would be reported now are small enough."""
        job, limit = self.job, self.job.until_error
        if limit is None or not job.watch:
            return False
        frames, planned = len(self.series[0]), job.steps // job.interval + 1
        if frames < EARLIEST_STOP * planned or frames % max(planned // 50, 1):
            return False
        spacing = job.interval * job.timestep / 1000.0
        for series, watch in zip(self.series, job.watch, strict=True):
            errors = standard_errors([np.array(series)], watch, spacing, job.friction)
            if any(error is None or error >= limit for error in errors):
                return False
        return True
