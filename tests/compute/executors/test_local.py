"""A model that hangs, dies or leaves costs one job, wherever in the bundle the guilty job stands."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.compute.cost import CostModel
from assay.compute.executors import open_executor
from assay.compute.executors.local import LocalProcesses
from assay.compute.runner import Runner
from assay.configurations import dimer
from assay.jobs import Job, Probe, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, FAILED, OK, Outcome
from assay.store import Store
from faulty import COPPER, GOLD, MACHINE, lines

JOBS = 12


@contextmanager
def runner(factory: str, folder: Path, workers: int = 1, timeout: float = 2.0, load: float = 20.0) -> Iterator[Runner]:
    """A runner for one of the faulty models that soon takes a worker for hung, but allows for CPU time to load (s)."""
    model = load_model(f"{MACHINE}:{factory}")
    store = Store.create(folder, "model")
    with open_executor(model, store, workers) as executor:
        cost = CostModel.of_model(model, timeout)
        cost.record_small_structures(1e-3)
        cost.record_load_time(load)
        yield Runner(model, store, executor, cost)


def jobs(*guilty: int) -> list[Job]:
    """Copper dimers at different distances, with gold dimers in the places `guilty`."""
    lengths = [2.2 + 0.1 * i for i in range(JOBS)]
    kinds = [GOLD if i in guilty else COPPER for i in range(JOBS)]
    return [SinglePoints((dimer(z, z, length),)) for z, length in zip(kinds, lengths, strict=True)]


def completed(factory: str, folder: Path, guilty: int, **options: float) -> tuple[Outcome, list[Outcome]]:
    """The outcome of the guilty job, and those of all others, after one go."""
    with runner(factory, folder, **options) as machine:  # type: ignore[arg-type]
        work = jobs(guilty)
        machine.complete(work, "dimers")
        found = [machine.known[machine.key(job)] for job in work]
        assert machine.gave_up == ""
    return found[guilty], [outcome for i, outcome in enumerate(found) if i != guilty]


@pytest.mark.parametrize("guilty", [0, 4, JOBS - 1])
@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        ("hangs_on_gold", "used no CPU time and gave no answer for"),
        ("dies_on_gold", "signal SIGKILL"),
        ("crashes_on_gold", "signal SIGSEGV"),
        ("runs_out_of_memory_on_gold", "out of memory: for an array of 9 TB"),
        ("interrupts_on_gold", "KeyboardInterrupt"),
        ("ends_quietly_on_gold", "the worker died (exit code 0)"),
    ],
)
def test_only_the_guilty_job_is_an_error(tmp_path: Path, factory: str, reason: str, guilty: int) -> None:
    lost, others = completed(factory, tmp_path, guilty)
    assert lost.status == ERROR
    assert reason in lost.reason
    assert [outcome.status for outcome in others] == [OK] * (JOBS - 1)
    assert all(count == 1 for (_, status), count in lines(tmp_path).items() if status == OK)


def test_a_worker_that_computes_for_ever_is_killed_after_its_cpu_time(tmp_path: Path) -> None:
    lost, others = completed("computes_for_ever_on_gold", tmp_path, 4, timeout=2.0, load=1.0)
    assert lost.status == ERROR
    assert re.search(r"no answer within \d+ s of CPU time at a load of \d+ on \d+ cores", lost.reason)
    assert [outcome.status for outcome in others] == [OK] * (JOBS - 1)


@pytest.mark.parametrize("factory", ["computes_on_gold", "lets_a_child_compute_on_gold"])
def test_a_worker_that_computes_does_not_hang_however_long_it_takes(tmp_path: Path, factory: str) -> None:
    with runner(factory, tmp_path, timeout=0.4) as machine:
        machine.complete(jobs(4), "dimers", deadline=60.0)
        assert {machine.known[machine.key(job)].status for job in jobs(4)} == {OK}
        (used,) = [machine.known[machine.key(jobs(4)[4])].provenance["cpu_seconds"]]
        assert used >= 1.5, "the time of children counts"
        assert machine.executor.cpu_seconds >= used


def test_a_worker_that_gives_answers_does_not_hang_though_it_does_not_compute(tmp_path: Path) -> None:
    lengths = [2.2 + 0.02 * i for i in range(20)]
    job = SinglePoints(tuple(dimer(COPPER, COPPER, length) for length in lengths))  # 4 s, without an outcome in between
    with runner("answers_slowly", tmp_path, timeout=2.0) as machine:
        machine.complete([job], "dimers")
        assert machine.known[machine.key(job)].status == OK


def test_the_reason_names_the_load_and_the_option(tmp_path: Path) -> None:
    lost, _ = completed("hangs_on_gold", tmp_path, 0, timeout=1.0)
    assert re.search(r"for 1 s at a load of \d+ on \d+ cores; give more with --timeout 4", lost.reason)


def test_a_worker_that_is_stopped_is_replaced_and_no_job_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOPPED_BEFORE", str(tmp_path / "marker"))
    guilty, others = completed("stops_once_on_gold", tmp_path, 4, timeout=1.0)
    assert (tmp_path / "marker").exists()
    assert {outcome.status for outcome in (guilty, *others)} == {OK}


def test_a_worker_that_dies_or_stops_with_nothing_to_do_is_replaced(tmp_path: Path) -> None:
    work = jobs()
    with runner("slow", tmp_path, timeout=1.0) as machine:
        for number, fault in enumerate((signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)):
            machine.complete(work[number : number + 1], "dimers")
            assert isinstance(machine.executor, LocalProcesses)
            worker = machine.executor.processes[0].process
            os.kill(worker.pid, fault)
            if fault != signal.SIGSTOP:
                worker.join()
        machine.complete(work, "dimers")
        assert {machine.known[machine.key(job)].status for job in work} == {OK}
    assert set(lines(tmp_path).values()) == {1}


def test_workers_and_their_children_end_with_the_executor(tmp_path: Path) -> None:
    with runner("slow", tmp_path, workers=2) as machine:
        machine.complete(jobs(), "dimers")
        assert isinstance(machine.executor, LocalProcesses)
        processes = [worker.system for worker in machine.executor.processes.values()]
        assert all(process.is_running() for process in processes)
    assert not any(process.is_running() for process in processes)


@pytest.mark.parametrize("count", [2, 3, 6])
def test_guilty_jobs_side_by_side_do_not_take_the_others_with_them(tmp_path: Path, count: int) -> None:
    guilty = range(3, 3 + count)
    with runner("dies_on_gold", tmp_path) as machine:
        machine.complete([SinglePoints((dimer(COPPER, COPPER, 2.0),))], "one that shows that the model can answer")
        machine.complete(jobs(*guilty), "dimers")
        statuses = [machine.known[machine.key(job)].status for job in jobs(*guilty)]
    assert statuses == [ERROR if i in guilty else OK for i in range(JOBS)]


@pytest.mark.parametrize("factory", ["fails_on_gold", "leaves_on_gold", "answers_nan_for_gold"])
def test_what_the_model_does_wrong_is_failed_and_its_traceback_is_kept(tmp_path: Path, factory: str) -> None:
    guilty, others = completed(factory, tmp_path, 4)
    assert guilty.status == FAILED
    assert "Traceback (most recent call last)" in guilty.traceback
    assert "machine.py" in guilty.traceback or factory == "answers_nan_for_gold"
    assert [outcome.status for outcome in others] == [OK] * (JOBS - 1)


def test_two_workers_lose_the_same_job_as_one(tmp_path: Path) -> None:
    one, two = (completed("dies_on_gold", tmp_path / str(n), 4, workers=n) for n in (1, 2))
    assert (one[0].key, one[0].status) == (two[0].key, two[0].status)
    assert [(o.key, o.status) for o in one[1]] == [(o.key, o.status) for o in two[1]]


def test_values_do_not_depend_on_where_they_are_computed(tmp_path: Path) -> None:
    work = jobs(4)
    found = []
    for workers in (0, 2):
        with runner("slow", tmp_path / str(workers), workers) as machine:
            machine.complete(work, "dimers")
            found.append([machine.known[machine.key(job)] for job in work])
    for here, there in zip(*found, strict=True):
        assert (here.key, here.status, here.reason) == (there.key, there.status, there.reason)
        assert here.points()[0].energy == there.points()[0].energy
        assert here.points()[0].forces.tolist() == there.points()[0].forces.tolist()


def test_a_model_that_always_hangs_is_given_up_before_all_jobs_are_tried(tmp_path: Path) -> None:
    with runner("hangs", tmp_path, timeout=1.0) as machine:
        machine.complete(jobs(), "dimers")
        assert "workers in a row were lost" in machine.gave_up
        assert 1 < len(machine.known) < JOBS
        assert {outcome.status for outcome in machine.known.values()} == {ERROR}


def test_an_error_is_tried_again_and_a_failure_is_not(tmp_path: Path) -> None:
    for _ in range(2):
        completed("dies_on_gold", tmp_path / "error", 4)
        completed("fails_on_gold", tmp_path / "failure", 4)
    counts = {name: Counter(status for _, status in lines(tmp_path / name).elements()) for name in ("error", "failure")}
    assert counts == {"error": {OK: JOBS - 1, ERROR: 2}, "failure": {OK: JOBS - 1, FAILED: 1}}


def test_an_interrupt_in_this_process_keeps_what_is_done(tmp_path: Path) -> None:
    with runner("interrupts_on_gold", tmp_path, workers=0) as machine, pytest.raises(KeyboardInterrupt):
        machine.complete(jobs(4), "dimers")
    assert set(lines(tmp_path).values()) == {1}
    assert {status for _, status in lines(tmp_path)} == {OK}
    assert len(lines(tmp_path)) == 4


def test_a_job_that_no_engine_knows_is_our_error(tmp_path: Path) -> None:
    with runner("slow", tmp_path, workers=0) as machine:
        job = Probe("there_is_no_such_probe", (dimer(COPPER, COPPER),))
        machine.complete([job], "a probe")
        found = machine.known[machine.key(job)]
    assert found.status == ERROR
    assert "there_is_no_such_probe" in found.reason
    assert "Traceback (most recent call last)" in found.traceback
