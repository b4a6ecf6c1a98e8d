"""From a store to results: observe every case, measure every benchmark, score. Needs no model, only numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from assay.benchmark import NULL, Benchmark, Case, observe_case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.registry import registered_benchmarks
from assay.categories import Category, certified, count_cases, make_category
from assay.errors import AssayError, Cause
from assay.gaps import Gap, Why, gap_of
from assay.observation import MetricValue, Observation, Verdict
from assay.outcome import ERROR, FAILED, OK
from assay.remarks import batch_remarks
from assay.score import combine, mean_score
from assay.store import Outcomes, Store
from assay.store.description import sound_description
from assay.suites import Suite
from assay.suites.values import checked_values

REASON_LENGTH = 10_000
"""Characters of a reason that are kept."""

MOST_UNKNOWN = 20
"""Benchmarks that are not installed and are named; more are counted."""


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
    """Results of one model for the benchmarks of a suite that have cases in the store.

    The store may come from anywhere: what cannot be read is left out, and a warning says so.
    """
    outcomes, stored = store.outcomes(), store.benchmarks()
    description, warnings = _description(store)
    warnings = [*store.notes, *store.warnings, *warnings, *_unknown(stored), *batch_remarks(outcomes.remarked())]
    results, gaps = [], []
    for benchmark in suite.build():
        if benchmark.name not in stored:
            gaps.append(_gap(benchmark, Why.NOT_RUN))
            continue
        try:
            results.append(_read_result(benchmark, store, outcomes, description.get("fingerprint")))
        except _Outdated as error:
            warnings.append(str(error))
            gaps.append(_gap(benchmark, Why.OUTDATED))
        except AssayError as error:
            warnings.append(str(error))
            gaps.append(_gap(benchmark, Why.DAMAGED))
    warnings += _lost_frames(outcomes.without_frames)
    missing = tuple(gap for gap in gaps if gap is not None)
    return ModelResult(str(description.get("name", store.folder.name)), results, description, tuple(warnings), missing)


class _Outdated(AssayError):
    """Results of another version of the benchmark or of the model."""


def _description(store: Store) -> tuple[dict[str, Any], list[str]]:
    """The description of the model, and a warning about what cannot be read in it."""
    try:
        description, wrong = sound_description(store.read_model())
    except AssayError as error:
        return {}, [str(error)]
    if not wrong:
        return description, []
    names = ", ".join(f"'{name}'" for name in wrong)
    return description, [f"'{store.folder / 'model.json'}' has a wrong type at {names}, which was passed over"]


def _read_result(benchmark: Benchmark, store: Store, outcomes: Outcomes, fingerprint: str | None) -> BenchmarkResult:
    """What a benchmark says; an `AssayError` if its stored cases are of another version or cannot be used."""
    name = benchmark.name
    stamp, rows = store.read_cases(name)
    if stamp != (benchmark.version, fingerprint or stamp.fingerprint):
        raise _Outdated(f"the results of {name} belong to another version of it or of the model; run it again")
    try:
        return _result(_as_run(benchmark, store.read_settings(name)), rows, outcomes)
    except AssayError:
        raise
    except Exception as error:  # one damaged benchmark must not lose the others
        raise AssayError(
            f"the results of {name} cannot be used ({type(error).__name__}: {error}); run it again"
        ) from error


def _lost_frames(reasons: Sequence[str]) -> list[str]:
    """A warning about simulations whose frames are not in the results folder."""
    if not reasons:
        return []
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return [
        f"{reasons[0]}{more}: copy the folder 'trajectories' too, or run the same command to compute what is missing"
    ]


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
    names = [name for name in stored if name not in known]
    more = [f"the results of {len(names) - MOST_UNKNOWN} more benchmarks are left out"] if names[MOST_UNKNOWN:] else []
    return [
        f"the results of '{name}' are left out, because this benchmark is not installed; give its file with -b"
        for name in names[:MOST_UNKNOWN]
    ] + more


def _as_run(benchmark: Benchmark, settings: Mapping[str, Any]) -> Benchmark:
    """The benchmark with the settings of the run, whatever suite is chosen now: they belong to the outcomes."""
    known = {name: value for name, value in settings.items() if name in benchmark.__dataclass_fields__}
    try:
        return replace(benchmark, **checked_values(type(benchmark), known, "the results folder"))
    except AssayError as error:
        raise AssayError(f"{error}; run the benchmark again") from error


def _result(benchmark: Benchmark, rows: Sequence[tuple[Case, dict[str, str]]], outcomes: Outcomes) -> BenchmarkResult:
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
    if not all(isinstance(data, Mapping) and all(isinstance(v, str) for v in data.values()) for data in found):
        raise TypeError("a data set that is not described by texts")
    return list({str(sorted(data.items())): data for data in found}.values())


def _observe(benchmark: Benchmark, case: Case, keys: dict[str, str], outcomes: Outcomes) -> Observation:
    found = {role: outcome for role, key in keys.items() if (outcome := outcomes.get(key)) is not None}
    if len(found) < len(keys):
        reasons = (outcomes.lacking(key) for key in keys.values())
        return Observation(case.id, ERROR, reason=next(filter(None, reasons), "not run"), cause=Cause.NOT_RUN)
    try:
        seen = observe_case(benchmark, case, found)
        errors = (error for error in seen.stderr.values() if error is not None)
        numbers = [*seen.values.values(), *seen.tolerances.values(), *errors]
        if not all(isinstance(number, int | float | np.number) for number in numbers):
            raise TypeError("a value that is not a number")
        return seen if len(seen.reason) <= REASON_LENGTH else replace(seen, reason=seen.reason[:REASON_LENGTH] + "…")
    except Exception as error:  # a bug of ours in one case must not lose the others
        return Observation(
            case.id, ERROR, reason=f"observing failed: {type(error).__name__}: {error}", cause=Cause.INTERNAL
        )
