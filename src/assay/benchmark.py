"""What every benchmark is made of: cases with jobs, observations, metrics, plots. A benchmark never runs anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

from assay.errors import AssayError, Cause
from assay.jobs import Data, Job
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.score import mean_score, soft_threshold

if TYPE_CHECKING:
    from assay.data.source import DataSource
    from assay.survey import Survey


@dataclass(frozen=True)
class Case:
    """One question for the model: the jobs that answer it and the numbers needed to judge the answer.

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
    """The result of one case. `values` are numbers by name, `detail` is plain data for plots and reports."""

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


def failed(
    case: Case,
    reason: str,
    values: Mapping[str, float] | None = None,
    detail: Data | None = None,
    stderr: Mapping[str, float | None] | None = None,
    cause: str = Cause.NONE,
) -> Observation:
    """A case that the model failed, which scores 0; numbers that are known are kept."""
    return Observation(case.id, FAILED, values or {}, reason, detail or {}, stderr=stderr or {}, cause=cause)


@dataclass(frozen=True)
class Metric:
    """A number that a benchmark reports: its unit, its ideal value, and how far off a case may be and still score 1.

    A metric without a `threshold` is reported and not scored. The other fields change how it is averaged over cases.
    """

    name: str
    unit: str
    threshold: float | None = None
    ideal: float = 0.0
    cases: tuple[str, ...] = ("*",)
    """Patterns of the case ids from which the metric is read; other cases neither count nor fail in it."""

    optional: bool = False
    """Left out of the results where no case has a value."""

    by_group: bool = False
    """Also reported for each group of cases, which an observation names in `detail["group"]`."""

    counts_failed: bool = False
    """Failed cases that have a value count in the mean, as in the share of runs that converged."""

    is_score: bool = False
    """The value is itself a score between 0 and 1; there is no threshold."""

    def score(self, observation: Observation) -> float | None:
        """The score of one case in this metric; None where the metric is only reported, or the case has no value."""
        if self.threshold is None and not self.is_score:
            return None
        if observation.status == FAILED:
            return 0.0
        if observation.status != OK or self.name not in observation.values:
            return None
        value = observation.values[self.name]
        if self.threshold is None:
            return value
        return soft_threshold(abs(value - self.ideal), observation.tolerances.get(self.name, self.threshold))

    def known(self, observation: Observation) -> bool:
        """True when the value of a case counts in the mean."""
        counted = observation.status == OK or (self.counts_failed and observation.status == FAILED)
        return counted and self.name in observation.values

    def own(self, observations: Sequence[Observation]) -> Sequence[Observation]:
        """The observations of its cases; all of them if there are none, as for a model that never answered."""
        mine = [o for o in observations if any(fnmatchcase(o.case, pattern) for pattern in self.cases)]
        return mine or observations


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
    """Cases that have a value, and all cases."""

    ideal: float = 0.0


PLOT_KINDS = ("curve", "parity", "histogram", "matrix", "series", "scatter")


@dataclass(frozen=True)
class Plot:
    """A picture that a report should draw. Names refer to an observation's `detail`, or else to its `values`.

    `curve`: `y` over `x` in one picture for each case, with `reference` beside it if there is one. `series`: the same
    over time. `histogram`: counts `y` between the edges `x`. `parity`: `y` of the model against `x` of the reference,
    all cases in one picture. `scatter`: `y` over `x`, all cases in one picture; `x` may be "case". `matrix`: one cell
    for each case, whose id is a pair such as "H-O", coloured by `y`.
    """

    kind: str
    y: str
    x: str = "case"
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    reference: str = ""

    def __post_init__(self) -> None:
        if self.kind not in PLOT_KINDS:
            raise AssayError(f"there is no kind of plot '{self.kind}'; choose from {', '.join(PLOT_KINDS)}")

    @property
    def needs(self) -> tuple[str, ...]:
        """Names that an observation must have for this plot."""
        return tuple(name for name in (self.x, self.y, self.reference) if name and name != "case")


@dataclass(frozen=True)
class Verdict:
    """The result of a check over all its cases."""

    name: str
    status: str
    passed: bool | None
    mandatory: bool
    grade: str | None
    error: float | None
    unit: str
    tolerance: float | None
    evaluated: int
    refused: int
    skipped: int
    comment: str
    where: str = ""
    why: str = ""
    floor: float | None = None


def _embedded_only() -> DataSource:
    from assay.data.source import DataSource  # only runs need data; lists and scores start without it

    return DataSource()


@dataclass(frozen=True)
class Scope:
    """What a benchmark may use when it makes its cases: the model as surveyed, and the reference data."""

    survey: Survey
    data: DataSource = field(default_factory=_embedded_only)


@dataclass(frozen=True)
class Benchmark:
    """The base of all benchmarks. Fields of a subclass are its protocol, and a suite may change them."""

    name: ClassVar[str] = ""
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()
    plots: ClassVar[tuple[Plot, ...]] = ()
    catches: ClassVar[tuple[str, ...]] = ()
    """Names of broken models (`assay.sabotage`) that must not score well."""

    needs_noise: ClassVar[bool] = True
    """True where limits depend on how well the model repeats itself; precision and noise are then in each context."""

    worst_counts: ClassVar[bool] = False
    """True where the score of a case is that of its worst metric, not the mean of all."""

    optional: ClassVar[tuple[str, ...]] = ()
    """Roles of jobs that the model may refuse without failing the case."""

    has_null: ClassVar[bool] = False
    """True where the score of a model with constant energy and no forces is worth knowing."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        """The cases for this model. Needs no calculator. Not called for a model that could not be reached."""
        raise AssayError(f"benchmark '{self.name}' makes no cases; give it a method 'cases'")

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The numbers of a case, from the outcomes of its jobs by role. Sees the context, never the model.

        It is called only for cases with values: what was not run, refused as a whole or lost is handled before.
        """
        raise AssayError(f"benchmark '{self.name}' observes nothing; give it a method 'observe'")

    def observe_null(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The same for the outcomes of a model with constant energy and no forces."""
        return self.observe(case, outcomes)

    def without_cases(self, scope: Scope) -> Case:
        """The one case of a model for which `cases` gave none."""
        refused = next(iter(scope.survey.refused.values()), "")
        return Case("nothing", {}, failure=refused or "the model gave no answer for any element")

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Metrics over all cases: the mean of each value, scored case by case against the threshold."""
        seen = {name for o in observations for name in o.values}
        wanted = [metric for metric in self.metrics if not metric.optional or metric.name in seen]
        values = [mean_metric(metric, metric.own(observations)) for metric in wanted]
        return values + [value for metric in wanted if metric.by_group for value in _by_group(metric, observations)]

    def verdict(self, observations: Sequence[Observation]) -> Verdict | None:
        """Pass or fail over all cases; None for benchmarks that are no checks."""
        return None

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
    score = mean_score(scores)[0] if all(o.status != ERROR for o in observations) else None
    coverage = (sum(map(metric.known, observations)), len(observations))
    return MetricValue(metric.name, value, stderr, metric.unit, metric.threshold, score, coverage, metric.ideal)


def mean_metric(metric: Metric, observations: Sequence[Observation]) -> MetricValue:
    """The mean of a metric over the cases that have it, with its standard error.

    The error is the scatter of the cases, or what the standard errors of their own values give, whichever is larger.
    """
    known = [o for o in observations if metric.known(o)]
    mean, scatter = mean_score([o.values[metric.name] for o in known])
    errors = [error for o in known if (error := o.stderr.get(metric.name)) is not None]
    inner = sqrt(sum(error * error for error in errors)) / len(known) if errors else None
    stderr = max((error for error in (scatter, inner) if error is not None), default=None)
    return metric_value(metric, observations, mean, stderr)


def _by_group(metric: Metric, observations: Sequence[Observation]) -> list[MetricValue]:
    groups: dict[str, list[Observation]] = {}
    for seen in observations:
        groups.setdefault(str(seen.detail.get("group", "")), []).append(seen)
    groups.pop("", None)
    return [replace(mean_metric(metric, groups[name]), name=f"{metric.name} ({name})") for name in sorted(groups)]


def planned_cases(benchmark: Benchmark, scope: Scope, limit: int | None = None) -> list[Case]:
    """The cases of a benchmark for a model, at most `limit` of them, or one that says why there are none.

    Where the benchmark needs it, the precision of the model and its noise (eV, eV/Å) are in each context.
    """
    survey = scope.survey
    if survey.contact_error:
        cases = [Case("contact", {}, lost=survey.contact_error)]
    else:
        cases = list(islice(benchmark.cases(scope), limit)) or [benchmark.without_cases(scope)]
    if not benchmark.needs_noise:
        return cases
    noise = {"precision": survey.precision, "noise_energy": survey.noise_energy, "noise_force": survey.noise_force}
    return [replace(case, context={**case.context, **noise}) for case in cases]


def observe_case(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
    """What is seen in a case: its own end if it has no jobs, a job that was lost or refused, else its numbers."""
    seen = _ended_early(benchmark, case, outcomes) or benchmark.observe(case, outcomes)
    group = case.context.get("group")
    return replace(seen, detail={**seen.detail, "group": group}) if group else seen


def _ended_early(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome]) -> Observation | None:
    if case.unsupported:
        return Observation(case.id, UNSUPPORTED, reason=case.unsupported)
    if case.lost:
        return Observation(case.id, ERROR, reason=case.lost, cause=case.cause or Cause.WORKER_LOST)
    if case.failure:
        return failed(case, case.failure, cause=case.cause or Cause.REFUSED)
    for role, outcome in outcomes.items():
        without_values = outcome.status == FAILED and "natoms" not in outcome.values
        unusable = outcome.status == UNSUPPORTED or without_values
        if outcome.status == ERROR or (unusable and role not in benchmark.optional):
            return Observation(case.id, outcome.status, reason=outcome.reason, cause=outcome.cause)
    return None


NULL = "null"
"""Where the context of a case keeps the result of a model with constant energy and no forces."""


def with_null(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome]) -> Case:
    """The case with the values and score of the null model beside its references, so that scoring needs no data."""
    seen = benchmark.observe_null(case, outcomes)
    null = {"status": seen.status, "values": dict(seen.values), "score": benchmark.case_score(seen)}
    return replace(case, context={**case.context, NULL: null})
