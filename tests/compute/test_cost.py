"""Expected times, deadlines and sizes of bundles follow from the measured times of one evaluation."""

from __future__ import annotations

import pytest

from assay.compute import cost as cost_module
from assay.compute.bundling import make_bundle
from assay.compute.cost import (
    BUNDLE_SECONDS,
    BUNDLES,
    DEADLINE_FACTOR,
    LONGEST_BUNDLE,
    STEEPEST,
    UNCONVERGED_FACTOR,
    UNMEASURED,
    CostModel,
    Evaluated,
    TimingCurve,
    Timings,
    time_limit,
)
from assay.compute.engines.batch_size import SPOT_CHECKS
from assay.configurations import cluster
from assay.jobs import Band, Dynamics, Job, Probe, Relaxation, SinglePoints
from timed import gas
from toys import model_of


@pytest.fixture(autouse=True)
def assay_itself_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of Assay itself are tested with the overheads."""
    monkeypatch.setattr(cost_module, "own_seconds", lambda job: 0.0)


START = cluster((29,))
POWERS = TimingCurve(((10, 0.01), (100, 0.1), (1000, 10.0)))


def cost_of(seconds: float, batched: float | None = None) -> CostModel:
    """A cost model whose evaluations all take the same time (s), alone and in a batch."""
    return CostModel(batched is not None, timeout=60.0, timings=Timings.of_small_structures(seconds, batched))


def points(count: int) -> SinglePoints:
    return SinglePoints((START,) * count)


@pytest.mark.parametrize(
    ("atoms", "seconds"), [(10, 0.01), (31.6228, 0.0316228), (100, 0.1), (316.228, 1.0), (1000, 10.0)]
)
def test_between_sizes_time_grows_by_a_power(atoms: float, seconds: float) -> None:
    assert POWERS.at(atoms) == pytest.approx(seconds, rel=1e-4)  # type: ignore[arg-type]


def test_below_the_smallest_size_nothing_is_quicker() -> None:
    assert POWERS.at(1) == POWERS.at(10) == 0.01


def test_beyond_the_largest_size_time_grows_as_it_did() -> None:
    assert POWERS.at(2000) == pytest.approx(40.0)  # as the square
    assert TimingCurve(((10, 0.01), (100, 0.01))).at(1000) == pytest.approx(0.1), "at least with the number of atoms"
    assert TimingCurve(((10, 1e-6), (20, 1.0))).at(40) == pytest.approx(2.0**STEEPEST), "at most as its cube"
    assert TimingCurve(((10, 0.01),)).at(100) == pytest.approx(0.1)
    assert TimingCurve(((10, 0.01),)).at(100, least_power=2.0) == pytest.approx(1.0)


def test_the_time_of_a_mixture_is_the_mean_and_free_and_periodic_go_apart() -> None:
    timings = Timings({False: TimingCurve(((10, 0.1), (20, 0.2))), True: TimingCurve(((10, 1.0),))})
    assert timings.seconds([gas(10), gas(20)]) == pytest.approx(0.15)
    assert timings.seconds([gas(10), gas(10, 30.0)]) == pytest.approx(0.55)
    assert timings.seconds([]) == 0.1
    assert timings.covers([gas(20), gas(10, 30.0)])
    assert not timings.covers([gas(20), gas(20, 30.0)])


def test_only_jobs_that_share_batches_have_the_time_of_batches() -> None:
    timings = Timings.of_small_structures(0.1, batched=0.01)
    assert timings.seconds([gas(5)]) == 0.1
    assert timings.seconds([gas(5)], batched=True) == 0.01
    assert Timings.of_small_structures(0.1).seconds([gas(5)], batched=True) == 0.1
    cost = cost_of(0.1, batched=0.01)
    assert cost.seconds(points(10)) == pytest.approx(0.1)
    assert cost.seconds(SinglePoints((START,) * 10, alone=True)) == pytest.approx(1.0)
    assert cost.longest(points(10)) == pytest.approx(1.0), "a batch that fails is computed one by one"


def test_a_cost_model_has_batches_where_the_model_has_them() -> None:
    without, having = model_of(object), model_of(object, build_batch=object)
    assert [CostModel.of_model(model).has_batches for model in (without, having)] == [False, True]
    assert CostModel.of_model(without, 7.0) == CostModel(False, 7.0, 0.0, UNMEASURED)


def test_what_the_survey_finds_replaces_what_was_assumed() -> None:
    cost = CostModel(has_batches=True)
    cost.record_small_structures(0.5, 0.1)
    assert (cost.seconds(points(4)), cost.longest(points(4))) == (pytest.approx(0.4), pytest.approx(2.0))
    measured = Timings({False: TimingCurve(((6, 1.0),))})
    cost.record_timings(measured)
    assert cost.timings == measured
    before = cost.deadline([points(1)])
    cost.record_load_time(10.0)
    assert cost.deadline([points(1)]) == pytest.approx(before + 30.0)


def test_time_is_estimated_from_what_is_usual_and_allowed_for_what_is_possible() -> None:
    relaxation = Relaxation(START, steps=1000)
    band = Band(relaxation.structure, relaxation.structure, images=9, steps=500)
    cost = cost_of(0.01)
    assert cost.seconds(relaxation) == pytest.approx(0.01 * 60)
    assert cost.seconds(band) == pytest.approx(0.01 * 9 * 60)
    for job in (relaxation, band):
        assert cost.longest(job) == pytest.approx(0.01 * job.force_calls)
        assert make_bundle([("key", job)], cost).deadline >= DEADLINE_FACTOR * 0.01 * job.force_calls


def test_a_deadline_is_the_timeout_and_a_multiple_of_the_longest_time() -> None:
    cost = cost_of(1.0)
    assert cost.deadline([points(1)]) == pytest.approx(60.0 + UNCONVERGED_FACTOR)
    assert cost.deadline([points(100)]) == pytest.approx(60.0 + 100.0 * DEADLINE_FACTOR + 2.0 * 60.0)
    assert cost.deadline([points(60), points(40)]) == pytest.approx(cost.deadline([points(100)]))
    assert cost.deadline([]) == 60.0
    assert cost.contact_deadline == 240.0


def test_a_probe_with_a_time_limit_leaves_out_what_it_has_no_time_for() -> None:
    cost = cost_of(0.01)
    sizes = tuple(gas(n) for n in (12, 24, 48, 96))
    assert cost.seconds(Probe("scaling", sizes, {"seconds": 3.0}, force_calls=400)) == pytest.approx(3.0), "1 + 2"
    assert cost.seconds(Probe("scaling", sizes, {"seconds": 2.9}, force_calls=400)) == pytest.approx(1.0)
    assert cost.seconds(Probe("memory", (START,), {"seconds": 3.0}, force_calls=10)) == pytest.approx(0.1)
    assert cost.seconds(Probe("repeats", (START,), force_calls=1000)) == pytest.approx(10.0)
    assert [time_limit(job) for job in (Probe("memory", settings={"seconds": 3}), points(1))] == [3.0, None]


def test_simulations_of_large_systems_cost_more_than_those_of_small_ones() -> None:
    cost = CostModel(timings=Timings({False: TimingCurve(((10, 0.01), (100, 0.1)))}))
    jobs = [Dynamics(START.repeated((n, 1, 1)), steps=999) for n in (1, 10, 100)]
    assert [cost.seconds(job) for job in jobs] == pytest.approx([10.0, 60.0, 600.0])


def test_work_shorter_than_loading_the_model_is_one_bundle() -> None:
    cost = cost_of(1.0)
    cost.record_load_time(20.0)
    assert cost.bundle_seconds([points(15)]) == 15.0
    assert cost.bundle_seconds([points(1)]) == BUNDLE_SECONDS


def test_much_work_is_cut_into_bundles_that_are_not_long() -> None:
    cost = cost_of(1.0)
    assert cost.bundle_seconds([points(100)]) == BUNDLE_SECONDS, "a model that is loaded at once"
    cost.record_load_time(20.0)
    assert cost.bundle_seconds([points(160)]) == 160 / BUNDLES
    assert cost.bundle_seconds([points(16000)]) == 20.0, "what it takes to load the model"
    cost.record_load_time(1000.0)
    assert cost.bundle_seconds([points(16000)]) == LONGEST_BUNDLE


def test_the_clock_runs_as_long_as_the_busiest_worker() -> None:
    cost = cost_of(0.1)

    def clock(*steps: int) -> float:
        jobs: list[Job] = [Dynamics(START, steps=n - 1, seed=i) for i, n in enumerate(steps)]
        return cost.schedule([make_bundle([(str(i), job)], cost) for i, job in enumerate(jobs)], 2).clock_seconds

    assert clock(1000, 1000) == pytest.approx(100.0)
    assert clock(1000, 1000, 1000) == pytest.approx(200.0)
    assert clock(3000, 100, 100, 100) == pytest.approx(300.0), "one run is not shared"
    assert clock() == 0.0


def test_every_worker_that_is_used_loads_the_model_and_each_number_of_atoms() -> None:
    cost = CostModel(load_seconds=5.0, timings=Timings({False: TimingCurve(((12, 0.1),))}, first=3.0))
    jobs = [SinglePoints((gas(n),) * 10) for n in (6, 6, 6, 8)]
    bundles = [make_bundle([(str(i), job)], cost) for i, job in enumerate(jobs)]
    assert cost.schedule(bundles, 1) == pytest.approx((5.0 + 4.0 + 6.0,) * 2)
    clock, cpu = cost.schedule(bundles, 2)
    assert cpu == pytest.approx(2 * 5.0 + 4.0 + 2 * 3.0 + 3.0), "6 atoms in both, 8 atoms in one"
    assert clock == pytest.approx(5.0 + 3.0 + 2.0 + 3.0)
    assert cost.schedule(bundles[:1], 2).cpu_seconds == pytest.approx(5.0 + 3.0 + 1.0)
    assert cost.schedule([], 2) == (0.0, 0.0)


def test_batches_have_first_evaluations_of_their_own_and_a_few_structures_are_also_evaluated_alone() -> None:
    seen = Evaluated()
    assert seen.add([(False, 5), (False, 5), (True, 5)]) == 2
    assert seen.add([(True, n) for n in (5, 6, 7, 8)]) == 3, "the width up to 8 was compared before"
    assert seen.add([(True, n) for n in (9, 10, 11, 12, 13)]) == 5 + SPOT_CHECKS
    assert seen.add([(True, 9), (False, 9)]) == 0


def test_a_probe_pays_for_its_own_calculators_and_processes() -> None:
    timings = Timings({False: TimingCurve(((12, 0.1),))}, first=3.0)
    cost = CostModel(load_seconds=50.0, timings=timings, build_seconds=7.0)
    structures = (gas(4), gas(4), gas(6))
    assert cost.seconds(Probe("x", structures, force_calls=10)) == pytest.approx(1.0)
    assert cost.seconds(Probe("x", structures, force_calls=10, calculators=4)) == pytest.approx(1.0 + 4 * (7.0 + 6.0))
    assert cost.seconds(Probe("x", structures, force_calls=10, processes=1)) == pytest.approx(1.0 + 50.0 + 6.0)


def test_a_first_evaluation_is_counted_with_the_benchmark_that_makes_it() -> None:
    cost = CostModel(timings=Timings({False: TimingCurve(((12, 0.1),))}, first=3.0))
    seen = Evaluated()
    assert cost.benchmark_cost(1, [SinglePoints((gas(6),))], seen).seconds == pytest.approx(3.1)
    assert cost.benchmark_cost(1, [SinglePoints((gas(6), gas(7)))], seen).seconds == pytest.approx(3.2)


def test_the_cost_of_a_benchmark_says_what_is_extrapolated() -> None:
    cost = CostModel(timings=Timings({False: TimingCurve(((10, 0.01), (20, 0.1)))}))
    small, large = SinglePoints((gas(10),)), SinglePoints((gas(40),) * 3)
    row = cost.benchmark_cost(7, [small, large])
    assert (row.cases, row.jobs, row.force_calls, row.extrapolated) == (7, 2, 4, True)
    assert row.seconds == pytest.approx(cost.seconds(small) + cost.seconds(large))
    assert cost.benchmark_cost(1, [small]).extrapolated is False
    limited = Probe("scaling", (gas(400),), {"seconds": 5.0})
    assert cost.benchmark_cost(1, [limited]).extrapolated is False, "it stops by itself"
    assert cost.benchmark_cost(2, []).seconds == 0.0


def test_what_comes_from_batches_costs_less_than_a_call_of_the_calculator() -> None:
    sampled = SinglePoints((START,) * 100, alone=True, sample=(0, 5, 7))
    path = Probe("path", (START,), force_calls=100, from_batches=60)
    alone, together = cost_of(0.1), cost_of(0.1, batched=0.001)
    for job in (sampled, path):
        own = alone.seconds(job) - 10.0
        assert own == pytest.approx(0.0, abs=0.5)
    assert together.seconds(sampled) == pytest.approx(3 * 0.1 + 100 * 0.001, abs=0.5)
    assert together.seconds(path) == pytest.approx(40 * 0.1 + 60 * 0.001, abs=0.5)
    assert together.longest(sampled) == pytest.approx(10.0), "the calculator may have to compute all"
