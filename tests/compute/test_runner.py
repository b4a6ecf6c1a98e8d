"""Jobs that move: what a lost worker costs, and what is not run again."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from assay.compute.cost import CostModel
from assay.compute.executors import open_executor
from assay.compute.runner import Runner
from assay.configurations import cluster
from assay.errors import AssayError
from assay.jobs import Job, Relaxation, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, OK
from assay.store import Store
from faulty import COPPER, GOLD, MACHINE, lines


@contextmanager
def runner(factory: str, folder: Path, workers: int = 1) -> Iterator[Runner]:
    model = load_model(f"{MACHINE}:{factory}")
    store = Store.create(folder, "model")
    with open_executor(model, store, workers) as executor:
        cost = CostModel.of_model(model, timeout=60.0)
        cost.record_small_structures(1e-3)
        yield Runner(model, store, executor, cost)


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


def test_a_full_disk_stops_the_run_when_the_first_worker_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with runner("dies_on_gold", tmp_path) as machine:
        machine.complete([SinglePoints((cluster((COPPER,), size=3),))], "one that shows that the model can answer")
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(AssayError, match=r"cannot be written .No space left on device"):
            machine.complete(relaxations(count=60, guilty=0), "relaxations")
    assert set(lines(tmp_path).values()) == {1}
    assert {status for _, status in lines(tmp_path)} == {OK}, "the disk is no fault of a job"
    assert list(tmp_path.rglob("*.tmp")) == []
