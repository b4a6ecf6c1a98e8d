"""What every benchmark is made of: cases with jobs, observations, metrics. A benchmark never runs anything itself."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from assay.errors import AssayError, Cause
from assay.jobs import Data, Job
from assay.naming import did_you_mean
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.score import mean_score, soft_threshold

if TYPE_CHECKING:
    from assay.data.source import DataSource
    from assay.survey import Survey


@dataclass(frozen=True)
class Case:
    """One question put to the model: the jobs that answer it and the numbers needed to judge the answer.

    `context` is plain data (numbers, text, arrays) and is kept in the store. A case without jobs says why in one of
    three fields: `unsupported` (outside the claims of the model, not counted), `failure` (the model's fault, scores 0)
    or `lost` (the machine's fault, to be run again); `cause` is one of `Cause`.
    """

    id: str
    jobs: Mapping[str, Job]
    context: Data = field(default_factory=dict)
    unsupported: str = ""
    failure: str = ""
    lost: str = ""
    cause: str = Cause.NONE


@dataclass(frozen=True)
class Observation:
    """What was seen in one case. `values` are the metrics of the case; `detail` is kept for plots and reports."""

    case: str
    status: str
    values: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    detail: Data = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """Thresholds of this case where they differ from the metric's, because the model resolves no better."""

    stderr: Mapping[str, float | None] = field(default_factory=dict)
    """Standard errors of values that are averages, by name."""

    cause: str = Cause.NONE
    """Why the case is not `ok`, for programs; `reason` is for people."""


@dataclass(frozen=True)
class Metric:
    """A number that a benchmark reports: its unit, what it ideally is, and how far off a case may be and score 1."""

    name: str
    unit: str
    threshold: float | None = None
    ideal: float = 0.0

    def score(self, observation: Observation) -> float | None:
        """The score of one case in this metric; None where the metric is only reported, or the case has no value."""
        if self.threshold is None:
            return None
        if observation.status == FAILED:
            return 0.0
        if observation.status != OK or self.name not in observation.values:
            return None
        limit = observation.tolerances.get(self.name, self.threshold)
        return soft_threshold(abs(observation.values[self.name] - self.ideal), limit)


@dataclass(frozen=True)
class MetricValue:
    """A metric over all cases, with its standard error and the score that follows from it."""

    name: str
    value: float | None
    stderr: float | None
    unit: str
    threshold: float | None
    score: float | None
    coverage: tuple[int, int] = (0, 0)
    """Cases that have a value, and cases there are."""

    ideal: float = 0.0


def _embedded_only() -> DataSource:
    from assay.data.source import DataSource  # only runs need data; lists and scores start without it

    return DataSource()


@dataclass(frozen=True)
class Scope:
    """What a benchmark may look at when it makes its cases: the model's claims as surveyed, the settings, the data."""

    survey: Survey
    limit: int | None = None
    data: DataSource = field(default_factory=_embedded_only)


@dataclass(frozen=True)
class Benchmark:
    """The base of all benchmarks; fields of a subclass are its protocol, and a suite may change them."""

    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()
    catches: ClassVar[tuple[str, ...]] = ()
    needs_noise: ClassVar[bool] = True
    """False where cases and limits do not depend on how well the model repeats itself, which takes long to find out."""

    worst_counts: ClassVar[bool] = False
    """True where the score of a case is that of its worst metric, not the mean of all."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        """The cases for this model. Needs no calculator."""
        raise AssayError(f"benchmark '{self.name}' makes no cases; give it a method 'cases'")

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """What the outcomes of a case's jobs say. Sees the context of the case, never the model."""
        raise AssayError(f"benchmark '{self.name}' observes nothing; give it a method 'observe'")

    def null_observation(self, case: Case) -> Observation | None:
        """What the thresholds say about a model of constant energy and no forces; None where that is no question."""
        return None

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Metrics over all cases: the mean of each value, scored case by case against the threshold."""
        return [mean_metric(metric, observations) for metric in self.metrics]

    def case_score(self, observation: Observation) -> float | None:
        """The score of one case between 0 and 1; None where the case does not count."""
        scores = [score for metric in self.metrics if (score := metric.score(observation)) is not None]
        if not scores:
            return None
        return min(scores) if self.worst_counts else sum(scores) / len(scores)


def metric_value(
    metric: Metric, observations: Sequence[Observation], value: float | None, stderr: float | None
) -> MetricValue:
    """A metric over all cases, scored case by case; its score is missing as long as a case is."""
    scores = [score for o in observations if (score := metric.score(o)) is not None]
    complete = all(o.status != ERROR for o in observations)
    known = sum(1 for o in observations if o.status == OK and metric.name in o.values)
    return MetricValue(
        metric.name,
        value,
        stderr,
        metric.unit,
        metric.threshold,
        mean_score(scores)[0] if complete else None,
        (known, len(observations)),
        metric.ideal,
    )


def mean_metric(metric: Metric, observations: Sequence[Observation]) -> MetricValue:
    """The mean of a metric over the cases that have it; a failed case has no value but scores 0."""
    values = [o.values[metric.name] for o in observations if o.status == OK and metric.name in o.values]
    return metric_value(metric, observations, *mean_score(values))


NULL = "null"
"""Where the context of a case keeps what a model of constant energy and no forces would get."""


def with_null(benchmark: Benchmark, case: Case) -> Case:
    """The case with the values and score of the null model beside its references, so that scoring needs no data."""
    seen = benchmark.null_observation(case) if case.jobs else None
    if seen is None:
        return case
    null = {"status": seen.status, "values": dict(seen.values), "score": benchmark.case_score(seen)}
    return replace(case, context={**case.context, NULL: null})


def ended_early(case: Case, outcomes: Mapping[str, Outcome]) -> Observation | None:
    """What is seen in a case that ends before any number: not asked for, never answered, or spoilt by the machine."""
    if case.unsupported:
        return Observation(case.id, UNSUPPORTED, reason=case.unsupported)
    if case.lost:
        return Observation(case.id, ERROR, reason=case.lost, cause=case.cause or Cause.WORKER_LOST)
    if case.failure:
        return Observation(case.id, FAILED, reason=case.failure, cause=case.cause or Cause.REFUSED)
    for outcome in outcomes.values():
        without_values = outcome.status == FAILED and "natoms" not in outcome.values
        if outcome.status in (ERROR, UNSUPPORTED) or without_values:
            return Observation(case.id, outcome.status, reason=outcome.reason, cause=outcome.cause)
    return None


NOT_CATEGORIES = ("bases", "builders")
"""Folders of `assay.benchmarks` that hold no benchmarks."""


@cache
def registered_benchmarks() -> dict[str, type[Benchmark]]:
    """Every benchmark by its name, `category.file`; others come through `assay.benchmarks` entry points."""
    import assay.benchmarks as home

    found: dict[str, type[Benchmark]] = {}
    for item in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
        short = item.name.removeprefix(f"{home.__name__}.")
        if item.ispkg or "." not in short or short.partition(".")[0] in NOT_CATEGORIES:
            continue
        module = importlib.import_module(item.name)
        found[short] = _the_benchmark(module, "".join(w.title() for w in short.rpartition(".")[2].split("_")), short)
    for point in importlib.metadata.entry_points(group="assay.benchmarks"):
        kind = point.load()
        kind.name = point.name
        found[point.name] = kind
    return found


def _the_benchmark(module: object, class_name: str, name: str) -> type[Benchmark]:
    kind = getattr(module, class_name, None)
    if not (isinstance(kind, type) and issubclass(kind, Benchmark)):
        raise AssayError(f"benchmark file '{name}' has no class '{class_name}'; the path is the name")
    kind.name = name
    return kind


def find_benchmarks(patterns: Iterable[str]) -> list[str]:
    """Names that match the patterns: a full name, a category (`verification`), or a name without its category."""
    known = registered_benchmarks()
    chosen: list[str] = []
    for pattern in patterns:
        wanted = pattern.removesuffix(".*")
        hits = [n for n in known if n == wanted or n.startswith(f"{wanted}.") or n.rpartition(".")[2] == wanted]
        if not hits:
            hint = did_you_mean(wanted, known)
            raise AssayError(f"there is no benchmark '{pattern}'{hint}; 'assay list benchmarks' shows the names")
        chosen += [n for n in hits if n not in chosen]
    return chosen
