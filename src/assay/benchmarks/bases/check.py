"""The base of all checks: statements that are true of every sound model, each with a verdict and a letter.

A subclass writes `trials`, the cases with their jobs, and `residuals`, the comparisons of a case. A check fails if one
comparison is beyond its tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.limits import NotApplicable, NotResolved, Refused, Residual
from assay.errors import INVALID, Cause
from assay.observation import Metric, MetricValue, Observation, Plot, Verdict, metric_value
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.reasons import Group, Reason, grouped
from assay.score import grade, mean_score
from assay.survey import Survey


@dataclass(frozen=True)
class Check(Benchmark):
    """A statement that is true of every sound model."""

    mandatory: ClassVar[bool] = False
    optional_feature: ClassVar[bool] = False
    """True for checks of something that many models do not have, such as a batched evaluator."""

    metrics: ClassVar[tuple[Metric, ...]] = (Metric("error_over_tolerance", "1", threshold=1.0),)
    plots: ClassVar[tuple[Plot, ...]] = (
        Plot("scatter", "error_over_tolerance", title="error of each structure", y_label="error / tolerance"),
    )

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The cases of this check for a model. Precision and noise of the model are added to each context."""
        raise TypeError(f"check '{self.name}' has no trials")

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The comparisons of a case; raise `Refused` if the model did not compute what they start from.

        `NotApplicable` if the model does not have what is compared, and need not have it.
        """
        raise TypeError(f"check '{self.name}' compares nothing")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """All trials, and a failed case for each structure that the model refused at every spacing."""
        trials = list(self.trials(scope.survey))
        if not trials or (any(t.jobs for t in trials) and not self.optional_feature):
            trials += _without_structures(scope.survey)
        return trials

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The worst comparison of the case, in units of its tolerance."""
        try:
            found = list(self.residuals(case, outcomes))
        except Refused as refusal:
            return failed(case, str(refusal), cause=refusal.cause)
        except NotApplicable as missing:
            return Observation(case.id, UNSUPPORTED, reason=str(missing))
        except NotResolved as limit:
            return Observation(case.id, UNSUPPORTED, reason=str(limit), cause=Cause.NOT_RESOLVED)
        if not found:
            return failed(case, "nothing was compared")
        worst = max(found, key=lambda r: r.ratio)
        data = {name: value for residual in found for name, value in residual.data.items()}
        detail = {"evaluated": 1, "comparisons": len(found), "worst": _as_dict(worst), **data}
        if not math.isfinite(worst.ratio):
            return failed(case, worst.where, detail=detail)
        size = f"{worst.error:.2g} {worst.unit}, allowed {worst.tolerance:.1g}"
        reason = f"{worst.where}: {size}" if worst.ratio > 1.0 else ""
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
        unresolved = [o for o in skipped if o.cause == Cause.NOT_RESOLVED]
        letter = _letter(worst, passed, len(refused) + len(unresolved), len(compared))
        return Verdict(
            name=self.name,
            status=status,
            passed=passed,
            mandatory=self.mandatory,
            grade=letter,
            error=_finite(worst.error) if worst else None,
            unit=worst.unit if worst else "",
            tolerance=worst.tolerance if worst else None,
            evaluated=len(compared),
            refused=sum(1 for o in refused if o.cause not in INVALID),
            skipped=len(skipped),
            comment=_comment(compared, broken, refused, lost, skipped),
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
        reason = subject.reason or "the model supports neither free nor periodic structures of these elements"
        failure, lost = ("", reason) if subject.lost else (reason, "")
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
    row = {name: value for name, value in residual.__dict__.items() if name != "data"}
    return {**row, "error": _finite(residual.error)}


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
    """The letter of the worst comparison; no better than a D if a quarter of the cases is refused or not resolved."""
    if passed is None:
        return None
    if not passed or worst is None:
        return "F"
    letter = grade(worst.error, worst.floor, worst.tolerance)
    return max(letter, "D") if refused and 3 * refused >= compared else letter


def _comment(compared: list, broken: list, refused: list, lost: list, skipped: list) -> str:
    """What a reader should know, reason by reason; a pass without refusals needs no comment."""
    worst_first = sorted(broken, key=lambda o: -o.values.get("error_over_tolerance", math.inf))
    parts = [f"fails for {group.sentence}" for group in _groups(worst_first)]
    silent = [o for o in refused if o not in broken]
    parts += [f"refused {group.names} ({group.reason})" for group in _groups(silent)]
    parts += [f"not finished for {group.names} ({group.reason})" for group in _groups(lost)]
    if skipped and not (compared or broken or refused or lost):
        parts += [group.reason for group in _groups(skipped)]
    elif unresolved := [o for o in skipped if o.cause == Cause.NOT_RESOLVED]:
        parts += [f"{group.names}: {group.reason}" for group in _groups(unresolved)]
    return "; ".join(parts)


def _groups(observations: Sequence[Observation]) -> list[Group]:
    return grouped(Reason(o.case, o.reason, o.cause) for o in observations)
