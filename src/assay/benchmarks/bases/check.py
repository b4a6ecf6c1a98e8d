"""What all checks share: cases, counting, the verdict, the letter."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope, ended_early, metric_value
from assay.benchmarks.bases.limits import Refused, Residual
from assay.errors import INVALID
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.score import grade, mean_score
from assay.survey import Survey


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check over all its cases."""

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


@dataclass(frozen=True)
class Check(Benchmark):
    """A statement that is true of every sound model. Subclasses write `trials` and `residuals`."""

    mandatory: ClassVar[bool] = False
    optional_feature: ClassVar[bool] = False
    """True for checks of something that many models do not have, such as a batched evaluator."""

    metrics: ClassVar[tuple[Metric, ...]] = (Metric("error_over_tolerance", "1", threshold=1.0),)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The cases of this check for a model, without the limits, which are added to every case."""
        raise TypeError(f"check '{self.name}' has no trials")

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The comparisons of a case; raise `Refused` if the model would not compute what they start from."""
        raise TypeError(f"check '{self.name}' compares nothing")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """All trials, each with the precision and noise of the model."""
        survey = scope.survey
        limits = {
            "precision": survey.precision,
            "noise_energy": survey.noise_energy,
            "noise_force": survey.noise_force,
        }
        if survey.contact_error:
            return [Case("contact", {}, limits, lost=survey.contact_error)]
        trials = list(self.trials(survey))
        if not trials or (any(t.jobs for t in trials) and not self.optional_feature):
            trials += _without_structures(survey)
        if not trials:
            trials = [Case("nothing", {}, failure="the model answered for no element")]
        trials = trials[: scope.limit] if scope.limit else trials
        return [replace(t, context={**t.context, **limits}) for t in trials]

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The worst comparison of the case, in units of its tolerance."""
        early = ended_early(case, outcomes)
        if early is not None:
            return early
        try:
            found = list(self.residuals(case, outcomes))
        except Refused as refusal:
            return Observation(case.id, FAILED, reason=str(refusal), cause=refusal.cause)
        if not found:
            return Observation(case.id, FAILED, reason="nothing was compared")
        worst = max(found, key=lambda r: r.ratio)
        detail = {"evaluated": 1, "comparisons": len(found), "worst": _as_dict(worst)}
        if not math.isfinite(worst.ratio):
            return Observation(case.id, FAILED, reason=worst.where, detail=detail)
        reason = (
            f"{worst.where}: {worst.error:.2g} {worst.unit}, allowed {worst.tolerance:.1g}" if worst.ratio > 1.0 else ""
        )
        return Observation(case.id, OK, {"error_over_tolerance": worst.ratio}, reason, detail)

    def verdict(self, observations: Sequence[Observation]) -> Verdict:
        """Pass or fail over all cases; a pass needs at least one evaluated case and no failed comparison."""
        observations = sorted(observations, key=lambda o: o.case)
        compared = [o for o in observations if "worst" in o.detail]
        refused = [o for o in observations if o.status == FAILED and "worst" not in o.detail]
        lost = [o for o in observations if o.status == ERROR]
        skipped = [o for o in observations if o.status == UNSUPPORTED]
        broken = [o for o in compared if o.status == FAILED or o.values["error_over_tolerance"] > 1.0]
        broken += [o for o in refused if o.cause in INVALID]  # a NaN is not a refusal
        worst = _worst(compared)
        status, passed = _decide(compared, refused, lost, broken)
        return Verdict(
            name=self.name,
            status=status,
            passed=passed,
            mandatory=self.mandatory,
            grade=_letter(worst, passed, len(refused), len(compared)),
            error=_finite(worst.error) if worst else None,
            unit=worst.unit if worst else "",
            tolerance=worst.tolerance if worst else None,
            evaluated=len(compared),
            refused=sum(1 for o in refused if o.cause not in INVALID),
            skipped=len(skipped),
            comment=_comment(worst, broken, refused, lost, skipped),
            where=worst.where if worst else "",
            why=worst.why if worst else "",
            floor=worst.floor if worst else None,
        )

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The largest error over all cases in units of its tolerance, scored case by case."""
        metric = self.metrics[0]
        ratios = [o.values[metric.name] for o in observations if o.status == OK]
        scores = [score for o in observations if (score := metric.score(o)) is not None]
        return [metric_value(metric, observations, max(ratios, default=None), mean_score(scores)[1])]


def _without_structures(survey: Survey) -> list[Case]:
    """A case for each cluster or crystal that the model refused at every spacing, so that it is not passed over."""
    found = []
    for subject in survey.subjects:
        missing = ["cluster"] if subject.cluster_factor is None else []
        missing += survey.periodic_patterns[:1] if subject.crystal_factor is None else []
        failure, lost = ("", subject.reason) if subject.lost else (subject.reason, "")
        found += [
            Case(f"{subject.label}-{kind}", {}, failure=failure, lost=lost, cause=subject.cause) for kind in missing
        ]
    return found


def _decide(compared: list, refused: list, lost: list, broken: list) -> tuple[str, bool | None]:
    if broken or (refused and not compared and not lost):
        return FAILED, False
    if lost:
        return ERROR, None
    return (OK, True) if compared else (UNSUPPORTED, None)


def _as_dict(residual: Residual) -> dict[str, object]:
    return {**residual.__dict__, "error": _finite(residual.error)}


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _worst(compared: Sequence[Observation]) -> Residual | None:
    """The worst comparison over all cases; one without a finite error is worse than any."""
    found = []
    for observation in compared:
        row = observation.detail["worst"]
        if isinstance(row, Mapping):
            error = row["error"]
            values = {**row, "error": math.inf if error is None else float(error)}
            found.append(Residual(**values))
    return max(found, key=lambda r: (r.ratio, r.error / r.floor if r.floor else 0.0, r.where), default=None)


def _letter(worst: Residual | None, passed: bool | None, refused: int, compared: int) -> str | None:
    """The letter of the worst comparison; a model that refused a quarter of the cases gets no better than a D."""
    if passed is None:
        return None
    if not passed or worst is None:
        return "F"
    letter = grade(worst.error, worst.floor, worst.tolerance)
    return max(letter, "D") if refused and 3 * refused >= compared else letter


def _comment(worst: Residual | None, broken: list, refused: list, lost: list, skipped: list) -> str:
    parts = []
    if broken:
        parts.append(f"fails for {_names(broken)}: {broken[0].reason}")
    elif worst is not None:
        parts.append(f"worst {worst.error:.1e} {worst.unit} at {worst.where}")
    silent = [o for o in refused if o not in broken]
    if silent:
        parts.append(f"refused {_names(silent)} ({silent[0].reason})")
    if lost:
        parts.append(f"not finished for {_names(lost)} ({lost[0].reason})")
    if skipped and not (broken or refused or lost or worst):
        parts.append(skipped[0].reason)
    return "; ".join(parts)


def _names(observations: Sequence[Observation]) -> str:
    names = [o.case for o in observations]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
