"""What every benchmark is: cases with jobs, and observations of their outcomes. A benchmark never runs anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from assay.elements import SYMBOLS
from assay.errors import AssayError, Cause
from assay.jobs import Data, Job, Probe, SinglePoints, structures_of
from assay.observation import ELEMENTS, Metric, MetricValue, Observation, Plot, Verdict, grouped_metrics, mean_metric
from assay.outcome import ERROR, FAILED, UNSUPPORTED, Outcome
from assay.reasons import counted

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
        refused = counted(scope.survey.refused.values())
        return Case("nothing", {}, failure=refused or "the model gave no answer for any element")

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Metrics over all cases: the mean of each value, scored case by case against the threshold."""
        seen = {name for o in observations for name in o.values}
        wanted = [metric for metric in self.metrics if not metric.optional or metric.name in seen]
        values = [mean_metric(metric, metric.own(observations)) for metric in wanted]
        return values + [
            value for metric in wanted if metric.by_group for value in grouped_metrics(metric, observations)
        ]

    def verdict(self, observations: Sequence[Observation]) -> Verdict | None:
        """Pass or fail over all cases; None for benchmarks that are no checks."""
        return None

    def case_score(self, observation: Observation) -> float | None:
        """The score of one case between 0 and 1; None where the case does not count."""
        scores = [score for metric in self.metrics if (score := metric.score(observation)) is not None]
        if not scores:
            return None
        return min(scores) if self.worst_counts else sum(scores) / len(scores)


def planned_cases(benchmark: Benchmark, scope: Scope, limit: int | None = None) -> list[Case]:
    """The cases of a benchmark for a model, at most `limit` of them, or one that says why there are none.

    Where the benchmark needs it, the precision of the model, its noise (eV, eV/Å) and the energy of its lone atoms are
    in each context.
    """
    survey = scope.survey
    if survey.contact_error:
        cases = [Case("contact", {}, lost=survey.contact_error)]
    else:
        cases = list(islice(benchmark.cases(scope), limit)) or [benchmark.without_cases(scope)]
        cases = [_with_elements(case) for case in cases]
    if not benchmark.needs_noise:
        return cases
    noise = {"precision": survey.precision, "noise_energy": survey.noise_energy, "noise_force": survey.noise_force}
    return [replace(case, context={**case.context, **noise, **_lone_atoms(case, survey)}) for case in cases]


def _lone_atoms(case: Case, survey: Survey) -> Data:
    """The energy (eV) per atom of the atoms of a case when they are alone: one number, or one for each structure."""
    structures = next((job.structures for job in case.jobs.values() if isinstance(job, SinglePoints | Probe)), ())
    by_atoms = {s.numbers.tobytes(): survey.lone_energy(s) for s in structures}
    energies = [by_atoms[s.numbers.tobytes()] for s in structures]
    if not any(energies):
        return {}
    return {"lone_energy": energies[0] if len(set(energies)) == 1 else np.array(energies)}


def _with_elements(case: Case) -> Case:
    """The case with the symbols of the elements in its jobs, unless it names them itself, as one without jobs does."""
    numbers = {id(s.numbers): s.numbers for job in case.jobs.values() for s in structures_of(job)}
    present = sorted({int(z) for array in numbers.values() for z in array})
    known = ELEMENTS in case.context or not present
    return case if known else replace(case, context={**case.context, ELEMENTS: [SYMBOLS[z - 1] for z in present]})


def observe_case(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
    """What is seen in a case: its own end if it has no jobs, a job that was lost or refused, else its numbers."""
    seen = _ended_early(benchmark, case, outcomes) or benchmark.observe(case, outcomes)
    about = {name: case.context[name] for name in ("group", ELEMENTS) if case.context.get(name)}
    return replace(seen, detail={**seen.detail, **about}) if about else seen


def _ended_early(benchmark: Benchmark, case: Case, outcomes: Mapping[str, Outcome]) -> Observation | None:
    if case.unsupported:
        return Observation(case.id, UNSUPPORTED, reason=case.unsupported, cause=case.cause)
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
