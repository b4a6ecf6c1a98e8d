"""What executors take and return: bundles of jobs, and a report of each finished bundle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.jobs import Job

KeyedJob = tuple[str, Job]
"""A job with its key, which is the name of its outcome in the store."""

HUNG, DIED = "hung", "died"
"""The two ways in which a worker is lost: it gives no answer before the deadline, or its process ends."""


@dataclass(frozen=True)
class Bundle:
    """Jobs that are sent to a worker in one piece, with the seconds that they may take."""

    jobs: Sequence[KeyedJob]
    deadline: float
    scratch: Path | None = None
    """A folder for the outcomes, in place of the results folder, where they are not to be kept."""


@dataclass(frozen=True)
class Finished:
    """The end of a bundle. If the worker was lost, `lost` is `HUNG` or `DIED`, and `reason` is a sentence for users."""

    bundle: Bundle
    lost: str = ""
    reason: str = ""
    statuses: Sequence[tuple[str, str]] = ()
    """Key and status of each job; empty when the worker was lost."""


class Executor(Protocol):
    """Runs bundles with one model, at most `workers` of them at a time. Outcomes appear in the store."""

    workers: int

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Run all bundles, and give each one back when it is finished, in the order in which they finish."""
        ...
