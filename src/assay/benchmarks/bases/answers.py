"""What the reference-free benchmarks share: cases that cannot be asked, refusals, and limits that follow from noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from assay.benchmark import Case, Metric, MetricValue, Observation, Scope, mean_metric
from assay.benchmarks.bases.limits import EPSILON
from assay.outcome import FAILED, Point
from assay.survey import Survey

ULPS = 8.0
"""Sums of energies may be off by this many spacings of floating-point numbers."""

USUAL = (0.75, 1.35)
"""A model whose factor of spacing lies outside has another length scale than nature, and gets structures in its own."""

TIMES_NOISE = 10.0
MOST = 10.0
"""Noise raises a threshold to ten times the noise floor, but to no more than ten times the threshold itself, so that
a model that is mostly noise passes nothing."""


def asked(scope: Scope, cases: Iterable[Case]) -> list[Case]:
    """The cases with the precision and noise of the model, or one case that says why none can be asked."""
    survey = scope.survey
    if survey.contact_error:
        return [Case("contact", {}, lost=survey.contact_error)]
    made = list(cases) or [Case("nothing", {}, failure="the model answered for no element")]
    limits = {"precision": survey.precision, "noise_energy": survey.noise_energy, "noise_force": survey.noise_force}
    return [replace(c, context={**c.context, **limits}) for c in made[: scope.limit]]


def usable(survey: Survey) -> list[int]:
    """Atomic numbers that the model claims and answers for."""
    return [z for z in survey.species if z in survey.answered]


def failed(case: Case, reason: str) -> Observation:
    """A case that the model failed, which scores 0."""
    return Observation(case.id, FAILED, reason=reason)


def refusal(points: Sequence[Point]) -> str:
    """Why the model gave nothing usable for the first point that it did not answer; empty if it answered all."""
    return next((point.reason for point in points if not point.ok), "")


def limit(case: Case, threshold: float, kind: str, size: float) -> float:
    """The threshold (in thousandths: meV or meV/Å), raised where the model's own noise is coarser.

    `kind` is "energy" or "force" and `size` (eV or eV/Å) the largest number whose rounding enters.
    """
    noise = 1e3 * TIMES_NOISE * float(case.context[f"noise_{kind}"])
    rounding = 1e3 * ULPS * EPSILON[str(case.context["precision"])] * abs(size)
    return max(threshold, min(noise, MOST * threshold), rounding)


def metric_of_its_cases(
    metric: Metric, observations: Sequence[Observation], mine: Callable[[str], bool]
) -> MetricValue:
    """The mean of a metric over its own cases, chosen by name, so that others neither count nor fail in it.

    Without any of them it is judged by what there is instead, such as the one case of a model that never answered.
    """
    return mean_metric(metric, [o for o in observations if mine(o.case)] or list(observations))
