"""What executors take and return: bundles of jobs, and a report of each finished bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.jobs import Job
from assay.settings import TIMEOUT

KeyedJob = tuple[str, Job]
"""A job with its key, which is the name of its outcome in the store."""

HUNG, DIED, STOPPED = "hung", "died", "stopped"
"""How a worker is lost: it hangs or uses up its CPU time, its process ends, or a signal from elsewhere stops it."""


@dataclass(frozen=True)
class Bundle:
    """Jobs that are sent to a worker in one piece."""

    jobs: Sequence[KeyedJob]
    deadline: float
    """CPU seconds that they may take."""

    timeout: float = TIMEOUT
    """Seconds without any sign of life after which the worker is considered to hang."""

    scratch: Path | None = None
    """A folder for the outcomes, in place of the results folder, where they are not to be kept."""


@dataclass(frozen=True)
class Finished:
    """The end of a bundle. If the worker was lost, `lost` says in which way, and `reason` is a sentence for users."""

    bundle: Bundle
    lost: str = ""
    reason: str = ""


class Executor(Protocol):
    """Runs bundles with one model, at most `workers` of them at a time. Outcomes appear in the store."""

    workers: int

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds that all workers have used so far, including those that were lost."""
        ...

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Run all bundles, and give each one back when it is finished, in the order in which they finish."""
        ...
