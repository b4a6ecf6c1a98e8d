"""Benchmarks declare jobs; equal jobs are run once, and what is in the store is not run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.benchmarks.bases.derivative import STEPS
from assay.benchmarks.verification.deterministic import Deterministic
from assay.benchmarks.verification.forces_conservative import ForcesConservative
from assay.benchmarks.verification.forces_match_energy import ForcesMatchEnergy
from assay.benchmarks.verification.net_force_zero import NetForceZero
from assay.compute.cost import CostModel, Evaluated
from assay.compute.executors import open_executor
from assay.compute.plan import Plan, make_plan, write_plan
from assay.compute.runner import Runner
from assay.compute.surveying import make_survey
from assay.jobs import SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, Outcome
from assay.store import Store
from assay.suites import load_suite
from assay.survey import Survey


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    model = load_model("assay.sabotage:sound")
    load_suite("smoke").build()  # gives the checks their names
    store = Store.create(tmp_path, model.folder)
    with open_executor(model, store, 0) as executor:
        yield Runner(model, store, executor, CostModel.of_model(model))


@pytest.fixture
def survey(runner: Runner) -> Survey:
    return make_survey(runner, elements=(29,))


def complete(runner: Runner, plan: Plan) -> None:
    runner.complete(plan.jobs.values(), "test")


def test_checks_on_forces_and_on_their_jacobian_share_every_evaluation(runner: Runner, survey: Survey) -> None:
    alone = make_plan([ForcesMatchEnergy()], survey, runner)
    both = make_plan([ForcesMatchEnergy(), ForcesConservative()], survey, runner)
    assert both.asked == 2 * alone.asked == 8  # a cluster, a crystal, a slab and a wire
    assert both.jobs.keys() == alone.jobs.keys()
    assert both.force_calls == alone.force_calls
    assert [len(cases) for cases in both.cases.values()] == [4, 4]


def test_the_cost_is_known_before_the_run(runner: Runner, survey: Survey) -> None:
    plan = make_plan([ForcesMatchEnergy()], survey, runner)
    cluster, crystal = (1 + len(STEPS) * 2 * 3 * atoms for atoms in (6, 4))  # both ways along every coordinate
    assert plan.force_calls == cluster + 3 * crystal  # bulk, slab and wire
    bare = sum(runner.cost.seconds(job) for job in plan.jobs.values())
    first = runner.cost.first_seconds(plan.jobs.values(), Evaluated())
    assert plan.seconds == pytest.approx(bare + first + plan.start_seconds)
    assert plan.start_seconds == pytest.approx(runner.cost.load_seconds)
    assert plan.seconds_per_call == pytest.approx((bare + first) / plan.force_calls)
    assert plan.schedule.clock_seconds == pytest.approx(plan.seconds), "one process does one job after another"


def test_costs_by_benchmark_add_up_and_shared_jobs_count_once(runner: Runner, survey: Survey) -> None:
    plan = make_plan([ForcesMatchEnergy(), ForcesConservative(), NetForceZero()], survey, runner)
    first, second, third = plan.costs.values()
    assert (first.cases, first.jobs) == (4, 4)
    assert (second.cases, second.jobs, second.force_calls, second.seconds) == (4, 0, 0, 0.0)
    assert (third.jobs, third.force_calls) == (2, 2)
    assert plan.force_calls == first.force_calls + third.force_calls
    assert plan.seconds == pytest.approx(plan.start_seconds + first.seconds + third.seconds)
    assert third.seconds > 0.0
    assert len(plan.missing) == first.jobs + third.jobs
    assert not any(cost.extrapolated for cost in plan.costs.values())


def test_times_are_measured_once_on_structures_of_the_plan(runner: Runner, survey: Survey) -> None:
    plan = make_plan([ForcesMatchEnergy()], survey, runner)
    assert {periodic: [n for n, _ in c.points] for periodic, c in plan.timings.alone.items()} == {False: [6], True: [4]}
    known = len(runner.known)
    again = make_plan([ForcesMatchEnergy()], survey, runner)
    assert again.timings == plan.timings
    assert len(runner.known) == known, "what the store has is not measured again"


def test_nothing_is_missing_after_a_run(runner: Runner, survey: Survey) -> None:
    benchmarks = [NetForceZero(), ForcesMatchEnergy()]
    plan = make_plan(benchmarks, survey, runner)
    assert plan.missing.keys() == plan.jobs.keys()
    complete(runner, plan)
    again = make_plan(benchmarks, survey, runner)
    assert again.jobs.keys() == plan.jobs.keys()
    assert again.missing == {}
    assert (again.force_calls, again.seconds) == (0, 0.0)


def test_only_what_is_new_is_missing(runner: Runner, survey: Survey) -> None:
    complete(runner, make_plan([NetForceZero()], survey, runner))
    plan = make_plan([NetForceZero(), ForcesMatchEnergy()], survey, runner)
    assert len(plan.jobs) == 6
    assert plan.missing.keys() == make_plan([ForcesMatchEnergy()], survey, runner).jobs.keys()


def test_what_the_survey_has_asked_is_not_asked_again(runner: Runner, survey: Survey) -> None:
    plan = make_plan([Deterministic()], survey, runner)
    (repeats,) = (case for case in plan.cases["verification.deterministic"] if case.id == "repeats")
    assert runner.key(repeats.jobs["repeats"]) not in plan.missing
    assert len(plan.missing) == len(plan.jobs) - 1


def test_what_ended_in_error_is_run_again(runner: Runner, survey: Survey) -> None:
    """Even an error of a clock that was ahead: it does not hide the answer that comes after it."""
    plan = make_plan([NetForceZero()], survey, runner)
    key = next(iter(plan.jobs))
    runner.store.append(Outcome(key, ERROR, reason="the worker died", provenance={"finished": 1e12}))
    fresh = Runner(runner.model, Store(runner.store.folder), runner.executor, runner.cost)
    assert key in make_plan([NetForceZero()], survey, fresh).missing
    complete(fresh, plan)
    assert not make_plan([NetForceZero()], survey, fresh).missing


def test_another_model_shares_nothing(runner: Runner, survey: Survey, tmp_path: Path) -> None:
    plan = make_plan([NetForceZero()], survey, runner)
    model = load_model("assay.sabotage:sound_batch")
    other = Runner(model, runner.store, runner.executor, CostModel.of_model(model))
    assert not plan.jobs.keys() & make_plan([NetForceZero()], survey, other).jobs.keys()


def test_a_limit_takes_the_first_cases_of_every_benchmark(runner: Runner, survey: Survey) -> None:
    plan = make_plan([NetForceZero(), ForcesMatchEnergy()], survey, runner, limit=1)
    assert [[case.id for case in cases] for cases in plan.cases.values()] == [["Cu-cluster"], ["Cu-cluster"]]
    assert plan.asked == 2


def test_jobs_that_need_no_model_are_planned_in_the_same_way_twice(runner: Runner, survey: Survey) -> None:
    benchmarks = load_suite("smoke").build()
    first, second = (make_plan(benchmarks, survey, runner) for _ in range(2))
    assert list(first.jobs) == list(second.jobs)
    assert first.asked > len(first.jobs)


def test_the_plan_is_kept_so_that_scoring_needs_no_model(runner: Runner, survey: Survey) -> None:
    plan = make_plan([NetForceZero()], survey, runner)
    write_plan(plan, runner)
    assert runner.store.benchmarks() == ["verification.net_force_zero"]
    stamp, rows = runner.store.read_cases("verification.net_force_zero")
    assert stamp == (NetForceZero.version, runner.model.fingerprint)
    assert [case.id for case, _ in rows] == ["Cu-cluster", "Cu-TTT"]
    assert {key for _, keys in rows for key in keys.values()} == set(plan.jobs)
    (case, _), *_ = rows
    job = plan.cases["verification.net_force_zero"][0].jobs["points"]
    assert isinstance(job, SinglePoints)
    assert case.context["positions"].tobytes() == job.structures[0].positions.tobytes()
    assert case.context["precision"] == "float64"


def test_a_limited_plan_is_kept_beside_an_earlier_one(runner: Runner, survey: Survey) -> None:
    def kept() -> list[str]:
        return [case.id for case, _ in runner.store.read_cases("verification.net_force_zero")[1]]

    write_plan(make_plan([NetForceZero()], survey, runner), runner)
    limited = make_plan([NetForceZero()], survey, runner, limit=1)
    write_plan(limited, runner, partial=True)
    assert kept() == ["Cu-cluster", "Cu-TTT"]
    write_plan(limited, runner)
    assert kept() == ["Cu-cluster"]
