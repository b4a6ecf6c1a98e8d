"""Benchmarks without a score: which are missing in a mean, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from assay.errors import Cause
from assay.outcome import ERROR, UNSUPPORTED

if TYPE_CHECKING:
    from assay.results import BenchmarkResult


class Why(StrEnum):
    """Why a benchmark is not part of a mean."""

    NOT_RUN = "not run"
    OUTDATED = "outdated"
    """The results are of another version of the benchmark or of the model."""

    DAMAGED = "damaged"
    """The files of the results cannot be read."""

    NOT_FINISHED = "not finished"
    """Some cases ended in error or were not run."""

    NOT_SUPPORTED = "not supported"
    """The model supports none of the cases."""

    NO_DATA = "no data"
    NOT_SCORED = "not scored"
    """The cases finished, and none of them has a score."""

    DIFFERENT_SETTINGS = "different settings"
    DIFFERENT_DATA = "different data"
    NO_COMMON_CASE = "no common case"
    MISSING_ELEMENTS = "missing elements"
    NOT_AVAILABLE = "not available"


@dataclass(frozen=True)
class Gap:
    """A benchmark that is not part of a mean: its name, why, and the details for people."""

    benchmark: str
    why: Why
    reason: str = ""
    is_check: bool = False

    @property
    def category(self) -> str:
        """The part of the name before the dot."""
        return self.benchmark.partition(".")[0]


def gap_of(result: BenchmarkResult) -> Gap | None:
    """Why a benchmark that was run has no score or verdict; None if it has one or cannot have one."""
    seen = result.observations
    lost = [o for o in seen if o.status == ERROR]
    if lost:
        reason = f"{len(lost)} of {len(seen)} cases, the first: {lost[0].reason}"
        return Gap(result.name, Why.NOT_FINISHED, reason, result.is_check)
    if result.score is not None or not result.counts:
        return None
    if any(o.status != UNSUPPORTED for o in seen):
        return Gap(result.name, Why.NOT_SCORED, "no case has a score")
    why = Why.NO_DATA if any(o.cause == Cause.NO_DATA for o in seen) else Why.NOT_SUPPORTED
    return Gap(result.name, why, seen[0].reason if seen else "")
