"""The benchmarks of this package, without those of other packages and of files: the documentation is about these."""

from __future__ import annotations

from assay.benchmark import Benchmark
from assay.benchmarks.registry import registered_benchmarks

CATEGORIES = ("verification", "physicality", "molecules", "general")
"""Categories in the order of the pages; new ones follow in alphabetical order."""


def own_benchmarks() -> dict[str, type[Benchmark]]:
    """Every benchmark of this package by its name."""
    known = registered_benchmarks().items()
    return {name: benchmark for name, benchmark in known if benchmark.__module__.startswith("assay.benchmarks.")}


def categories() -> list[str]:
    """All categories, in the order of the pages."""
    names = {name.partition(".")[0] for name in own_benchmarks()}
    return [*(name for name in CATEGORIES if name in names), *sorted(names - set(CATEGORIES))]


def is_check(name: str) -> bool:
    """True for benchmarks that end in a verdict."""
    return name.startswith("verification.")


def is_mandatory(benchmark: type[Benchmark]) -> bool:
    """True for checks that must pass."""
    return bool(getattr(benchmark, "mandatory", False))


def has_score(benchmark: type[Benchmark]) -> bool:
    """True where at least one metric is scored."""
    return any(metric.threshold is not None or metric.is_score for metric in benchmark.metrics)
