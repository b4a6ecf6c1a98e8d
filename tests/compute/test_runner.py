"""Jobs that move: what a lost worker costs, what is expected and what is allowed, and who travels with whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from assay.compute.cost import steady
from assay.compute.executors.local import open_executor
from assay.compute.runner import IN_STEP, PATIENCE, Runner
from assay.configurations import cluster
from assay.jobs import Band, Dynamics, Job, Probe, Relaxation, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, OK
from assay.store import Store
from faulty import COPPER, GOLD, MACHINE, lines


@contextmanager
def runner(factory: str, folder: Path, workers: int = 1, pace: float = 1e-3) -> Iterator[Runner]:
    model = load_model(f"{MACHINE}:{factory}")
    store = Store.create(folder, "model")
    with open_executor(model, store, workers) as executor:
        yield Runner(model, store, executor, pace=steady(pace), timeout=60.0)


def relaxations(count: int = 12, guilty: int | None = None) -> list[Job]:
    """Shaken clusters of copper, one of them of gold."""
    rng, jobs = np.random.default_rng(3), list[Job]()
    for i in range(count):
        start = cluster((GOLD if i == guilty else COPPER,), size=4 + i % 3)
        jobs.append(Relaxation(start.moved(start.positions + rng.normal(scale=0.1, size=start.positions.shape))))
    return jobs


@pytest.mark.parametrize("factory", ["dies_on_gold", "dies_on_gold_with_batches"])
def test_a_relaxation_that_kills_its_worker_is_the_only_one_lost(tmp_path: Path, factory: str) -> None:
    jobs = relaxations(guilty=5)
    with runner(factory, tmp_path) as machine:
        machine.complete(jobs, "relaxations")
        found = [machine.known[machine.key(job)] for job in jobs]
    assert [o.status for o in found] == [ERROR if i == 5 else OK for i in range(len(jobs))]
    assert "SIGKILL" in found[5].reason
    assert all(o.values["converged"] for i, o in enumerate(found) if i != 5)


@pytest.mark.parametrize("factory", ["dies_once", "dies_once_with_batches"])
def test_what_was_finished_before_a_worker_was_killed_is_not_done_again(
    tmp_path: Path, factory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIED_BEFORE", str(tmp_path / "marker"))
    jobs = [SinglePoints((cluster((COPPER,), size=3),)), *relaxations()]
    with runner(factory, tmp_path) as machine:
        machine.complete(jobs, "relaxations")
        found = [machine.known[machine.key(job)] for job in jobs]
    assert (tmp_path / "marker").exists()
    assert [o.status for o in found] == [OK] * len(jobs)
    assert set(lines(tmp_path).values()) == {1}
    assert len(list((tmp_path / "model" / "outcomes").glob("*.jsonl"))) > 1  # the second worker has a file of its own


def test_what_was_there_is_not_run_again(tmp_path: Path) -> None:
    jobs = relaxations(4)
    for _ in range(2):
        with runner("sound_with_batches", tmp_path, workers=0) as machine:
            machine.complete(jobs, "relaxations")
    assert sorted(lines(tmp_path).values()) == [1] * 4


@pytest.mark.parametrize("factory", ["slow", "sound_with_batches"])
def test_progress_ends_at_all_and_never_goes_beyond(tmp_path: Path, factory: str) -> None:
    seen = list[tuple[int, int]]()
    with runner(factory, tmp_path, workers=0) as machine:
        machine.progress = lambda done, total, what: seen.append((done, total))
        machine.complete([*relaxations(6), SinglePoints((cluster((COPPER,)),))], "jobs")
    assert all(done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1] == sum(job.expected_calls for job in relaxations(6)) + 1


def test_time_is_estimated_from_what_is_usual_and_allowed_for_what_is_possible(tmp_path: Path) -> None:
    relaxation = Relaxation(cluster((COPPER,)), steps=1000)
    band = Band(relaxation.structure, relaxation.structure, images=9, steps=500)
    with runner("slow", tmp_path, workers=0, pace=0.01) as machine:
        assert machine.seconds(relaxation) == pytest.approx(0.01 * 60)
        assert machine.seconds(band) == pytest.approx(0.01 * 9 * 60)
        for job in (relaxation, band):
            bundle = machine._bundle([("key", job)])
            assert bundle.deadline >= PATIENCE * 0.01 * job.force_calls


def test_a_probe_that_watches_the_clock_costs_no_more_than_it_allows_itself(tmp_path: Path) -> None:
    start = cluster((COPPER,))
    with runner("slow", tmp_path, workers=0, pace=0.01) as machine:
        assert machine.seconds(Probe("memory", (start,), {"seconds": 3.0}, force_calls=1000)) == pytest.approx(3.0)
        assert machine.seconds(Probe("memory", (start,), {"seconds": 3.0}, force_calls=10)) == pytest.approx(0.1)
        assert machine.seconds(Probe("repeats", (start,), force_calls=1000)) == pytest.approx(10.0)


def test_the_clock_runs_as_long_as_the_busiest_worker(tmp_path: Path) -> None:
    def simulations(*steps: int) -> dict[str, Job]:
        jobs = [Dynamics(cluster((COPPER,)), steps=n - 1, seed=i) for i, n in enumerate(steps)]
        return {str(i): job for i, job in enumerate(jobs)}

    with runner("slow", tmp_path, workers=2, pace=0.1) as machine:
        assert machine.clock_seconds(simulations(1000, 1000)) == pytest.approx(100.0)
        assert machine.clock_seconds(simulations(1000, 1000, 1000)) == pytest.approx(200.0)
        assert machine.clock_seconds(simulations(100, 3000, 100, 100)) == pytest.approx(300.0), "one run is not shared"
        assert machine.clock_seconds({}) == 0.0


def test_relaxations_travel_together_where_they_share_batches(tmp_path: Path) -> None:
    jobs = relaxations(50)
    sizes = {}
    for factory in ("slow", "sound_with_batches"):
        with runner(factory, tmp_path / factory, workers=0, pace=0.02) as machine:
            sizes[factory] = [len(bundle.jobs) for bundle in machine._bundles(machine.missing(jobs), None)]
    assert sum(sizes["slow"]) == sum(sizes["sound_with_batches"]) == 50
    assert max(sizes["slow"]) < 5  # longer than a bundle should take, one after another
    assert all(size >= IN_STEP for size in sizes["sound_with_batches"][:-1])
