"""Makes the plan of a run: the cases of each benchmark, the jobs that are missing, and what they will cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from assay.benchmark import Benchmark, Case, Scope, planned_cases, with_null
from assay.compute.bundling import make_bundles
from assay.compute.cost import BenchmarkCost, Evaluated, Schedule, Timings
from assay.compute.measuring import measure_difficulty, measure_timings
from assay.compute.protocols.null import null_outcome
from assay.compute.runner import Runner
from assay.configurations import symbol
from assay.jobs import Job
from assay.store import Stamp
from assay.survey import Survey

if TYPE_CHECKING:
    from assay.data.source import DataSource


@dataclass(frozen=True)
class Plan:
    """The cases of each benchmark, all distinct jobs that they ask for, and what the missing ones will cost."""

    cases: dict[str, list[Case]]
    versions: dict[str, int]
    settings: dict[str, dict[str, object]]
    """The settings of each benchmark, which decide how outcomes are judged."""

    jobs: dict[str, Job]
    """All distinct jobs, by their keys."""

    asked: int
    """How many jobs the cases ask for, equal ones counted each time."""

    missing: dict[str, Job]
    """The jobs that the store does not have yet."""

    survey: Survey
    timings: Timings
    costs: dict[str, BenchmarkCost]
    schedule: Schedule
    """Expected times of all that is missing, with all workers."""

    workers: int
    problem: str = ""
    """Why the time could not be estimated; empty if it was."""

    @property
    def lost(self) -> dict[str, str]:
        """Elements and cases that are not in the estimate, because the survey lost a worker, with the reason."""
        cases = {case.id: case.lost for group in self.cases.values() for case in group if case.lost}
        return {symbol(z): reason for z, reason in self.survey.lost.items()} | cases

    @property
    def seconds(self) -> float:
        """Expected CPU time of all workers."""
        return self.schedule.cpu_seconds

    @property
    def start_seconds(self) -> float:
        """The part of it that is needed to start the workers and to load the model in each of them."""
        return max(self.seconds - sum(cost.seconds for cost in self.costs.values()), 0.0)

    @property
    def force_calls(self) -> int:
        """Evaluations that are still expected."""
        return sum(cost.force_calls for cost in self.costs.values())

    @property
    def seconds_per_call(self) -> float:
        """The mean time of an evaluation; that of a small structure when no evaluation is left."""
        seconds = self.seconds - self.start_seconds
        return seconds / self.force_calls if self.force_calls else self.survey.seconds_per_call


def make_plan(
    benchmarks: Sequence[Benchmark],
    survey: Survey,
    runner: Runner,
    limit: int | None = None,
    data: DataSource | None = None,
) -> Plan:
    """Make all cases, merge equal jobs, leave out what the store already has, and estimate the time of the rest."""
    scope = Scope(survey) if data is None else Scope(survey, data)
    cases = {b.name: [_with_null(b, case) for case in planned_cases(b, scope, limit)] for b in benchmarks}
    asked = [job for group in cases.values() for case in group for job in case.jobs.values()]
    jobs = {runner.key(job): job for job in asked}
    missing = runner.missing(jobs.values())
    if missing:
        runner.cost.record_timings(measure_timings(runner, jobs.values()))
        runner.cost.difficulty = measure_difficulty(runner, list(_left_for_each(cases, missing, runner).values()))
    workers = runner.executor.workers
    return Plan(
        cases=cases,
        versions={b.name: b.version for b in benchmarks},
        settings={b.name: {item.name: getattr(b, item.name) for item in fields(b)} for b in benchmarks},
        jobs=jobs,
        asked=len(asked),
        missing=missing,
        survey=survey,
        timings=runner.cost.timings,
        costs=_costs(cases, missing, runner),
        schedule=runner.cost.schedule(make_bundles(missing, runner.cost), workers),
        workers=workers,
        problem=survey.contact_error or runner.gave_up or runner.cost.timings.problem,
    )


def _with_null(benchmark: Benchmark, case: Case) -> Case:
    """The case with the result of the null model in its context, where the benchmark asks for that."""
    if not (benchmark.has_null and case.jobs):
        return case
    return with_null(benchmark, case, {role: null_outcome(job) for role, job in case.jobs.items()})


def _costs(cases: dict[str, list[Case]], missing: Mapping[str, Job], runner: Runner) -> dict[str, BenchmarkCost]:
    """The cost of the missing jobs by benchmark; a shared job is counted with the first benchmark that asks for it."""
    evaluated = Evaluated()
    return {
        name: runner.cost.benchmark_cost(len(cases[name]), jobs, evaluated)
        for name, jobs in _left_for_each(cases, missing, runner).items()
    }


def _left_for_each(
    cases: Mapping[str, Sequence[Case]], missing: Mapping[str, Job], runner: Runner
) -> dict[str, list[Job]]:
    """The missing jobs of each benchmark, without those that a benchmark before it asks for."""
    left = dict(missing)
    jobs = {}
    for name, group in cases.items():
        keys = {runner.key(job): None for case in group for job in case.jobs.values()}
        jobs[name] = [left.pop(key) for key in keys if key in left]
    return jobs


def write_plan(plan: Plan, runner: Runner, partial: bool = False) -> None:
    """Write model and cases to the store, so that scoring needs neither the model nor the data.

    A partial plan adds its cases to those that are there.
    """
    runner.store.write_model({**runner.model.describe(), "survey": plan.survey.describe()})
    for name, group in plan.cases.items():
        keys = {case.id: {role: runner.key(job) for role, job in case.jobs.items()} for case in group}
        stamp = Stamp(plan.versions[name], runner.model.fingerprint)
        runner.store.write_cases(name, stamp, group, keys, partial, plan.settings[name])
