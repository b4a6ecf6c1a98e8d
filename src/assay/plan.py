"""From benchmarks and a surveyed model to cases, the jobs that are missing, and what they will cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.benchmark import Benchmark, Case, Scope, with_null
from assay.jobs import Job
from assay.runner import Runner
from assay.store import Stamp
from assay.survey import Survey

if TYPE_CHECKING:
    from assay.data.source import DataSource


@dataclass(frozen=True)
class Plan:
    """Cases by benchmark, and every distinct job they ask for."""

    cases: dict[str, list[Case]]
    versions: dict[str, int]
    jobs: dict[str, Job]
    asked: int
    missing: dict[str, Job]
    survey: Survey
    seconds: float
    """Rough time for what is missing, on one core."""

    @property
    def seconds_per_call(self) -> float:
        """The mean time of an evaluation, as this model was seen to answer alone and in batches."""
        return self.seconds / self.force_calls if self.force_calls else self.survey.seconds_per_call

    @property
    def force_calls(self) -> int:
        """Evaluations that are expected to be still made; minimisations may need more or fewer."""
        return sum(job.expected_calls for job in self.missing.values())


def make_plan(
    benchmarks: Sequence[Benchmark],
    survey: Survey,
    runner: Runner,
    limit: int | None = None,
    data: DataSource | None = None,
) -> Plan:
    """Make all cases, merge equal jobs, and leave out what the store already has."""
    scope = Scope(survey, limit) if data is None else Scope(survey, limit, data)
    cases = {b.name: [with_null(b, case) for case in b.cases(scope)] for b in benchmarks}
    wanted = [job for group in cases.values() for case in group for job in case.jobs.values()]
    jobs = {runner.key(job): job for job in wanted}
    versions = {b.name: b.version for b in benchmarks}
    missing = runner.missing(jobs.values())
    seconds = sum(runner.seconds(job) for job in missing.values())
    return Plan(cases, versions, jobs, len(wanted), missing, survey, seconds)


def write_plan(plan: Plan, runner: Runner, partial: bool = False) -> None:
    """Keep model and cases in the store, so that scoring needs neither model nor data; a partial plan only adds."""
    runner.store.write_model({**runner.model.describe(), "survey": plan.survey.describe()})
    for name, group in plan.cases.items():
        keys = {case.id: {role: runner.key(job) for role, job in case.jobs.items()} for case in group}
        stamp = Stamp(plan.versions[name], runner.model.fingerprint)
        runner.store.write_cases(name, stamp, group, keys, keep_others=partial)
