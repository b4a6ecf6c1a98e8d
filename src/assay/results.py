"""From a store to results: observe every case, measure every benchmark, score. Needs no model, only numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assay.benchmark import NULL, Benchmark, Case, observe_case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.registry import registered_benchmarks
from assay.categories import Category, certified, count_cases, make_category
from assay.errors import Cause
from assay.gaps import Gap, Why, gap_of
from assay.observation import MetricValue, Observation, Verdict
from assay.outcome import ERROR, FAILED, OK, Outcome
from assay.remarks import batch_remarks
from assay.score import combine, mean_score
from assay.store import Store
from assay.suites import Suite
from assay.suites.values import checked_values


@dataclass(frozen=True)
class BenchmarkResult:
    """What a benchmark says about a model."""

    name: str
    version: int
    score: float | None
    stderr: float | None
    coverage: tuple[int, int]
    metrics: Sequence[MetricValue]
    observations: Sequence[Observation]
    case_scores: Sequence[float | None]
    verdict: Verdict | None = None
    missing: int = 0
    null_score: float | None = None
    """What constant energy and no forces would score by the thresholds, over the cases that count."""

    data: Sequence[Mapping[str, str]] = ()
    """The data sets behind the cases: name, level, lane and sha256 of each."""

    settings: Mapping[str, object] = field(default_factory=dict)
    """The settings with which the cases were made and computed."""

    scored: bool = True
    """False for benchmarks that only report numbers, such as times."""

    @property
    def skill(self) -> float | None:
        """The part of the way from the null model to perfection: 0 where nothing is known, 1 where all is right."""
        if self.score is None or self.null_score is None or self.null_score >= 1.0:
            return None
        return (self.score - self.null_score) / (1.0 - self.null_score)

    @property
    def category(self) -> str:
        """The part of the name before the dot."""
        return self.name.partition(".")[0]

    @property
    def is_check(self) -> bool:
        """True for what ends in a verdict; its score is part of no mean."""
        return self.verdict is not None or self.category == "verification"

    @property
    def counts(self) -> bool:
        """True when the score is part of the mean of its category."""
        return self.scored and not self.is_check


@dataclass(frozen=True)
class ModelResult:
    """All benchmarks of one model."""

    name: str
    benchmarks: Sequence[BenchmarkResult]
    description: dict[str, Any] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    not_run: Sequence[Gap] = ()
    """Benchmarks of the suite that have no results here."""

    @property
    def score(self) -> tuple[float | None, float | None]:
        """Mean over the categories that have a score, with its standard error; checks are part of no mean."""
        return combine([(category.score, category.stderr) for category in self.categories])

    @property
    def coverage(self) -> tuple[int, int]:
        """Cases that count, and cases there are, of the benchmarks that can have a score."""
        return count_cases([b for b in self.benchmarks if b.counts])

    @property
    def benchmark_coverage(self) -> tuple[int, int]:
        """Benchmarks that have a score, and benchmarks of the suite that can have one."""
        counting = [b for b in self.benchmarks if b.counts]
        missing = sum(not gap.is_check for gap in self.not_run)
        return sum(b.score is not None for b in counting), len(counting) + missing

    @property
    def categories(self) -> list[Category]:
        """The categories of the suite, in its order."""
        names = [b.category for b in self.benchmarks] + [gap.category for gap in self.not_run]
        return [make_category(name, self.benchmarks, self.not_run) for name in dict.fromkeys(names)]

    @property
    def missing(self) -> list[Gap]:
        """Benchmarks of the suite that were not run, not finished, or have no score, and why."""
        found = [gap for b in self.benchmarks if (gap := gap_of(b)) is not None]
        return [*self.not_run, *found]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts of all checks."""
        return [b.verdict for b in self.benchmarks if b.verdict is not None]

    @property
    def passed(self) -> bool:
        """True when every mandatory check that applies has passed and at least one did."""
        return certified(self.verdicts)

    @property
    def has_failure(self) -> bool:
        """True when a mandatory check was evaluated and failed."""
        return any(v.mandatory and v.passed is False for v in self.verdicts)

    @property
    def has_error(self) -> bool:
        """True when some case could not be finished."""
        return any(o.status == ERROR for b in self.benchmarks for o in b.observations)


def read_results(store: Store, suite: Suite) -> ModelResult:
    """Results of one model for the benchmarks of a suite that have cases in the store."""
    outcomes, description, stored = store.outcomes(), store.read_model(), store.benchmarks()
    warnings = [*store.warnings, *_unknown(stored), *batch_remarks(outcomes.values())]
    results, not_run = [], []
    for benchmark in suite.build():
        if benchmark.name not in stored:
            not_run.append(_gap(benchmark, Why.NOT_RUN))
            continue
        stamp, rows = store.read_cases(benchmark.name)
        if stamp != (benchmark.version, description.get("fingerprint", stamp.fingerprint)):
            warnings.append(
                f"the results of {benchmark.name} belong to another version of it or of the model; run it again"
            )
            not_run.append(_gap(benchmark, Why.OUTDATED))
            continue
        results.append(_result(_as_run(benchmark, store.read_settings(benchmark.name)), rows, outcomes))
    missing = tuple(gap for gap in not_run if gap is not None)
    return ModelResult(str(description.get("name", store.folder.name)), results, description, tuple(warnings), missing)


def _gap(benchmark: Benchmark, why: Why) -> Gap | None:
    """What is missing without a benchmark: a score or a verdict; None for one that only reports numbers."""
    is_check = isinstance(benchmark, Check)
    return Gap(benchmark.name, why, is_check=is_check) if is_check or _has_score(benchmark) else None


def _has_score(benchmark: Benchmark) -> bool:
    """True for benchmarks that can have a score; false for those that only report, such as times."""
    by_metric = any(metric.threshold is not None or metric.is_score for metric in benchmark.metrics)
    return by_metric or type(benchmark).case_score is not Benchmark.case_score


def _unknown(stored: Sequence[str]) -> list[str]:
    """A warning for each benchmark of the store that is not installed here."""
    known = registered_benchmarks()
    return [
        f"the results of '{name}' are left out, because this benchmark is not installed; give its file with -b"
        for name in stored
        if name not in known
    ]


def _as_run(benchmark: Benchmark, settings: Mapping[str, Any]) -> Benchmark:
    """The benchmark with the settings of the run, whatever suite is chosen now: they belong to the outcomes."""
    known = {name: value for name, value in settings.items() if name in benchmark.__dataclass_fields__}
    return replace(benchmark, **checked_values(type(benchmark), known, "the results folder"))


def _result(
    benchmark: Benchmark, rows: Sequence[tuple[Case, dict[str, str]]], outcomes: dict[str, Outcome]
) -> BenchmarkResult:
    observations = [_observe(benchmark, case, keys, outcomes) for case, keys in rows]
    scores = [benchmark.case_score(o) for o in observations]
    counted = [s for s in scores if s is not None]
    incomplete = any(o.status == ERROR for o in observations)
    score, stderr = (None, None) if incomplete else mean_score(counted)
    return BenchmarkResult(
        benchmark.name,
        benchmark.version,
        score,
        stderr,
        (sum(1 for o in observations if o.status in (OK, FAILED)), len(observations)),
        benchmark.measure(observations),
        observations,
        scores,
        benchmark.verdict(observations),
        sum(1 for o in observations if o.cause == Cause.NOT_RUN),
        _null_score([case for case, _ in rows], scores),
        _data_sets([case for case, _ in rows]),
        {item.name: getattr(benchmark, item.name) for item in fields(benchmark)},
        _has_score(benchmark),
    )


def _null_score(cases: Sequence[Case], scores: Sequence[float | None]) -> float | None:
    """The mean score of the null model over the cases that count."""
    counted = [case.context.get(NULL) for case, score in zip(cases, scores, strict=True) if score is not None]
    known = [null["score"] for null in counted if null is not None and null["score"] is not None]
    return mean_score(known)[0]


def _data_sets(cases: Sequence[Case]) -> list[Mapping[str, str]]:
    """The data sets that cases name, each once, in their order."""
    found = [case.context["data"] for case in cases if "data" in case.context]
    return list({str(sorted(data.items())): data for data in found}.values())


def _observe(benchmark: Benchmark, case: Case, keys: dict[str, str], outcomes: dict[str, Outcome]) -> Observation:
    found = {role: outcomes[key] for role, key in keys.items() if key in outcomes}
    if len(found) < len(keys):
        return Observation(case.id, ERROR, reason="not run", cause=Cause.NOT_RUN)
    try:
        return observe_case(benchmark, case, found)
    except Exception as error:  # a bug of ours in one case must not lose the others
        return Observation(
            case.id, ERROR, reason=f"observing failed: {type(error).__name__}: {error}", cause=Cause.INTERNAL
        )
