"""The results of a benchmark: observations of cases, metrics over all cases, plots, and the verdict of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import isfinite, sqrt

from assay.errors import AssayError, Cause
from assay.jobs import Data
from assay.outcome import ERROR, FAILED, OK
from assay.score import mean_score, soft_threshold

ELEMENTS = "elements"
"""Where the context of a case and the detail of its observation keep the symbols of its elements."""


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

    unresolved: tuple[str, ...] = ()
    """Names of values that are known too poorly to be good or bad, as after a short run; they have no score."""


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

    rms_of: str = ""
    """The name of another value, whose root mean square over the cases is reported."""

    failed_value: float | None = None
    """What a failed case without a value counts in the mean; None leaves it out."""

    @property
    def source(self) -> str:
        """The name of the value of a case that the metric reads."""
        return self.rms_of or self.name

    def score(self, observation: Observation) -> float | None:
        """The score of one case in this metric; None where the metric is only reported, or the case has no value."""
        if self.threshold is None and not self.is_score:
            return None
        if observation.status == FAILED:
            return 0.0
        if observation.status != OK or self.name not in observation.values or self.name in observation.unresolved:
            return None
        value = observation.values[self.name]
        if self.threshold is None:
            return min(max(value, 0.0), 1.0) if isfinite(value) else 0.0
        return soft_threshold(abs(value - self.ideal), observation.tolerances.get(self.name, self.threshold))

    def tolerance_range(self, observations: Sequence[Observation]) -> tuple[float, float] | None:
        """The smallest and the largest tolerance of the cases with a score; None where all have the threshold."""
        if self.threshold is None:
            return None
        scored = [o for o in observations if o.status == OK and self.score(o) is not None]
        used = [o.tolerances.get(self.name, self.threshold) for o in scored]
        return (min(used), max(used)) if any(limit != self.threshold for limit in used) else None

    def known(self, observation: Observation) -> bool:
        """True when the value of a case counts in the mean."""
        if observation.status == FAILED:
            kept = self.counts_failed and self.source in observation.values
            return kept or self.failed_value is not None
        return observation.status == OK and self.source in observation.values

    def value_of(self, observation: Observation) -> float:
        """The value of a case that is `known`."""
        default = self.failed_value if observation.status == FAILED else None
        return observation.values[self.source] if default is None else observation.values.get(self.source, default)

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
    tolerance_range: tuple[float, float] | None = None
    """The smallest and the largest tolerance of a case, where they are not all the threshold."""


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


def metric_value(
    metric: Metric, observations: Sequence[Observation], value: float | None, stderr: float | None
) -> MetricValue:
    """A metric over all cases, scored case by case; its score is missing as long as a case is."""
    scores = [score for o in observations if (score := metric.score(o)) is not None]
    score = mean_score(scores)[0] if all(o.status != ERROR for o in observations) else None
    coverage = (sum(map(metric.known, observations)), len(observations))
    limits = metric.tolerance_range(observations)
    return MetricValue(metric.name, value, stderr, metric.unit, metric.threshold, score, coverage, metric.ideal, limits)


def mean_metric(metric: Metric, observations: Sequence[Observation]) -> MetricValue:
    """The mean of a metric over the cases that have it, or the root of the mean square, with its standard error.

    The error is the scatter of the cases, or what the standard errors of their own values give, whichever is larger.
    """
    known = [o for o in observations if metric.known(o)]
    if not any(metric.source in o.values for o in known):
        known = []  # failed cases count only beside others
    values = [metric.value_of(o) for o in known]
    if metric.rms_of:
        return metric_value(metric, observations, *_root_mean_square(values))
    mean, scatter = mean_score(values)
    errors = [error for o in known if (error := o.stderr.get(metric.name)) is not None]
    inner = sqrt(sum(error * error for error in errors)) / len(known) if errors else None
    stderr = max((error for error in (scatter, inner) if error is not None), default=None)
    return metric_value(metric, observations, mean, stderr)


def _root_mean_square(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The root of the mean square and its standard error, from that of the mean square."""
    mean, error = mean_score([value * value for value in values])
    if mean is None:
        return None, None
    root = sqrt(mean)
    return root, (error / (2.0 * root) if error is not None and root > 0.0 else error)


def grouped_metrics(metric: Metric, observations: Sequence[Observation]) -> list[MetricValue]:
    """The metric for each group of cases that observations name in `detail["group"]`."""
    groups: dict[str, list[Observation]] = {}
    for seen in observations:
        groups.setdefault(str(seen.detail.get("group", "")), []).append(seen)
    groups.pop("", None)
    return [replace(mean_metric(metric, groups[name]), name=f"{metric.name} ({name})") for name in sorted(groups)]
