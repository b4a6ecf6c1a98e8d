"""Which jobs are sent to a worker in one piece, and in which order."""

from __future__ import annotations

import pytest

from assay.compute.bundling import BUNDLE_JOBS, SIDE_BY_SIDE, make_bundle, make_bundles
from assay.compute.cost import CostModel, Timings
from assay.configurations import cluster
from assay.jobs import Dynamics, Job, Relaxation, SinglePoints
from timed import gas

START = cluster((29,))


def cost_of(seconds: float, batched: float | None = None) -> CostModel:
    return CostModel(batched is not None, timings=Timings.of_small_structures(seconds, batched))


def named(jobs: list[Job]) -> dict[str, Job]:
    return {str(i): job for i, job in enumerate(jobs)}


def test_every_job_is_in_one_bundle_with_the_deadline_of_the_bundle() -> None:
    jobs = named([SinglePoints((START,) * (1 + i % 7), alone=True) for i in range(40)])
    cost = cost_of(0.1)
    bundles = make_bundles(jobs, cost)
    assert sorted(key for bundle in bundles for key, _ in bundle.jobs) == sorted(jobs)
    for bundle in bundles:
        assert bundle.deadline == cost.deadline([job for _, job in bundle.jobs])
    assert make_bundles({}, cost) == []


def test_a_given_deadline_counts_for_every_bundle() -> None:
    jobs = named([Dynamics(START, steps=1000, seed=i) for i in range(3)])
    assert [bundle.deadline for bundle in make_bundles(jobs, cost_of(1.0), deadline=5.0)] == [5.0] * 3
    assert make_bundle(list(jobs.items()), cost_of(1.0), 7.0).deadline == 7.0


def test_long_jobs_come_first_and_short_ones_travel_in_groups() -> None:
    jobs = named([Dynamics(START, steps=n) for n in (10, 30_000, 20, 10_000, 30)])
    bundles = make_bundles(jobs, cost_of(0.001))
    assert [[key for key, _ in bundle.jobs] for bundle in bundles] == [["1"], ["3"], ["4", "2", "0"]]


def test_a_bundle_has_at_most_24_jobs_unless_they_share_batches() -> None:
    jobs = named([SinglePoints((START,)) for _ in range(3 * BUNDLE_JOBS)])
    assert [len(b.jobs) for b in make_bundles(jobs, cost_of(1e-6))] == [BUNDLE_JOBS] * 3
    assert [len(b.jobs) for b in make_bundles(jobs, cost_of(1e-6, 1e-6))] == [3 * BUNDLE_JOBS]


def test_jobs_that_share_batches_are_ordered_by_size_and_come_before_others() -> None:
    jobs = named([SinglePoints((gas(3),)), SinglePoints((gas(9),), alone=True), SinglePoints((gas(30),))])
    (bundle,) = make_bundles(jobs, cost_of(1e-3, 1e-4))
    assert [key for key, _ in bundle.jobs] == ["2", "0", "1"]


@pytest.mark.parametrize("batched", [None, 0.02])
def test_relaxations_travel_together_where_they_share_batches(batched: float | None) -> None:
    jobs = named([Relaxation(cluster((29,), size=4 + i % 3)) for i in range(50)])
    sizes = [len(bundle.jobs) for bundle in make_bundles(jobs, cost_of(0.02, batched))]
    assert sum(sizes) == 50
    if batched is None:
        assert max(sizes) < 5  # longer than a bundle should take, one after another
    else:
        assert all(size >= SIDE_BY_SIDE for size in sizes[:-1])
