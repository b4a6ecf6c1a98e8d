"""From benchmarks and a surveyed model to cases, the jobs that are missing, and what they will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from assay.benchmark import Benchmark, Case, Scope, planned_cases, with_null
from assay.compute.cost import Pace, measure_pace, time_limit
from assay.compute.protocols.null import null_outcome
from assay.compute.runner import Runner
from assay.jobs import Job, structures_of
from assay.store import Stamp
from assay.survey import Survey

if TYPE_CHECKING:
    from assay.data.source import DataSource


@dataclass(frozen=True)
class Cost:
    """What a benchmark still has to compute; a job that several of them ask for is counted with the first."""

    cases: int
    jobs: int
    force_calls: int
    """Evaluations that are expected; minimisations may need more or fewer."""

    seconds: float
    """Expected time on one core."""

    extrapolated: bool
    """True when some systems are larger than any that was measured."""


@dataclass(frozen=True)
class Plan:
    """Cases by benchmark, every distinct job they ask for, and what those that are missing will cost."""

    cases: dict[str, list[Case]]
    versions: dict[str, int]
    settings: dict[str, dict[str, object]]
    """The settings of each benchmark, which decide how outcomes are judged."""

    jobs: dict[str, Job]
    asked: int
    missing: dict[str, Job]
    survey: Survey
    pace: Pace
    costs: dict[str, Cost]
    clock_seconds: float
    """Expected time on the clock, with all workers."""

    workers: int

    @property
    def seconds(self) -> float:
        """Expected time on one core."""
        return sum(cost.seconds for cost in self.costs.values())

    @property
    def force_calls(self) -> int:
        """Evaluations that are expected to be still made."""
        return sum(cost.force_calls for cost in self.costs.values())

    @property
    def seconds_per_call(self) -> float:
        """The mean time of an evaluation, or, when none is left to be made, that of a small structure."""
        return self.seconds / self.force_calls if self.force_calls else self.survey.seconds_per_call


def make_plan(
    benchmarks: Sequence[Benchmark],
    survey: Survey,
    runner: Runner,
    limit: int | None = None,
    data: DataSource | None = None,
) -> Plan:
    """Make all cases, merge equal jobs, leave out what the store already has, and find out how long the rest takes."""
    scope = Scope(survey) if data is None else Scope(survey, data)
    cases = {b.name: [_with_null(b, case) for case in planned_cases(b, scope, limit)] for b in benchmarks}
    wanted = [job for group in cases.values() for case in group for job in case.jobs.values()]
    jobs = {runner.key(job): job for job in wanted}
    versions = {b.name: b.version for b in benchmarks}
    settings = {b.name: {item.name: getattr(b, item.name) for item in fields(b)} for b in benchmarks}
    missing = runner.missing(jobs.values())
    if missing:
        runner.pace = measure_pace(runner, jobs.values())
    costs, clock, workers = _costs(cases, missing, runner), runner.clock_seconds(missing), runner.executor.workers
    asked = len(wanted)
    return Plan(cases, versions, settings, jobs, asked, missing, survey, runner.pace, costs, clock, workers)


def _with_null(benchmark: Benchmark, case: Case) -> Case:
    """The case with the result of the null model in its context, where the benchmark asks for that."""
    if not (benchmark.has_null and case.jobs):
        return case
    return with_null(benchmark, case, {role: null_outcome(job) for role, job in case.jobs.items()})


def _costs(cases: dict[str, list[Case]], missing: Mapping[str, Job], runner: Runner) -> dict[str, Cost]:
    left = dict(missing)
    costs = {}
    for name, group in cases.items():
        keys = {runner.key(job): None for case in group for job in case.jobs.values()}
        jobs = [left.pop(key) for key in keys if key in left]
        calls, seconds = sum(job.expected_calls for job in jobs), sum(runner.seconds(job) for job in jobs)
        known = all(runner.pace.measured(structures_of(job)) for job in jobs if time_limit(job) is None)
        costs[name] = Cost(len(group), len(jobs), calls, seconds, not known)
    return costs


def write_plan(plan: Plan, runner: Runner, partial: bool = False) -> None:
    """Keep model and cases in the store, so that scoring needs neither model nor data; a partial plan only adds."""
    runner.store.write_model({**runner.model.describe(), "survey": plan.survey.describe()})
    for name, group in plan.cases.items():
        keys = {case.id: {role: runner.key(job) for role, job in case.jobs.items()} for case in group}
        stamp = Stamp(plan.versions[name], runner.model.fingerprint)
        runner.store.write_cases(name, stamp, group, keys, partial, plan.settings[name])
