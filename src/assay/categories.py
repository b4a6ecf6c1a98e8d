"""Categories: the mean over benchmarks, or the certificate of the checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.gaps import Gap
from assay.observation import Verdict
from assay.score import combine

if TYPE_CHECKING:
    from assay.results import BenchmarkResult


@dataclass(frozen=True)
class Category:
    """The benchmarks of one category: the mean of their scores, or the certificate of the checks."""

    name: str
    score: float | None
    stderr: float | None
    benchmark_coverage: tuple[int, int]
    """Benchmarks that have a score, and all that can have one; for checks, verdicts and all checks."""

    coverage: tuple[int, int]
    """Cases that count, and all cases of the benchmarks that were run."""

    passed: bool | None = None
    """Whether the model passes the checks; None without checks."""


def make_category(name: str, benchmarks: Iterable[BenchmarkResult], not_run: Iterable[Gap]) -> Category:
    """One category of a model. Its score is the mean over benchmarks; scores of checks are never part of it."""
    members = [b for b in benchmarks if b.category == name]
    missing = [gap for gap in not_run if gap.category == name]
    counting, checks = [b for b in members if b.counts], [b for b in members if b.is_check]
    verdicts = [b.verdict for b in checks if b.verdict is not None]
    score, stderr = combine([(b.score, b.stderr) for b in counting])
    passed = certified(verdicts) if verdicts else None
    if counting or any(not gap.is_check for gap in missing):
        scored, lost = sum(b.score is not None for b in counting), sum(not gap.is_check for gap in missing)
        return Category(name, score, stderr, (scored, len(counting) + lost), count_cases(counting), passed)
    judged = sum(verdict.passed is not None for verdict in verdicts)
    return Category(name, None, None, (judged, len(checks) + len(missing)), count_cases(checks), passed)


def certified(verdicts: Sequence[Verdict]) -> bool:
    """True when every mandatory check that applies has passed and at least one did."""
    mandatory = [v for v in verdicts if v.mandatory]
    return any(v.passed for v in mandatory) and all(v.passed for v in mandatory if v.status != "unsupported")


def count_cases(benchmarks: Sequence[BenchmarkResult]) -> tuple[int, int]:
    """Cases that count, and all cases."""
    return sum(b.coverage[0] for b in benchmarks), sum(b.coverage[1] for b in benchmarks)
