"""Kills at random moments: of the command, of a worker that computes, and of one that has nothing to do.

The short form runs 400 jobs under ten kills; `make test-faults` runs 10 000 jobs under more than 50.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from disturbed import Disturbed, kill_idle_workers, kill_worker, soak, wait, workers_of


def statuses(run: Disturbed) -> set[str]:
    """The statuses of all lines of jobs of the benchmark."""
    keys = set(run.job_keys())
    return {status for key, status, _ in run.lines() if key in keys}


@pytest.mark.parametrize(
    ("jobs", "restarts", "most", "last", "kills"),
    [(400, 2, 20, 2, 8), pytest.param(10_000, 24, 70, 6, 50, marks=pytest.mark.faults)],
    ids=["short", "long"],
)
def test_nothing_is_lost_or_stored_twice_and_the_scores_are_those_of_a_run_in_peace(
    tmp_path: Path, jobs: int, restarts: int, most: int, last: int, kills: int
) -> None:
    undisturbed, run = Disturbed(tmp_path / "undisturbed", jobs), Disturbed(tmp_path / "run", jobs)
    undisturbed.to_the_end()
    soak(run, np.random.default_rng(7), restarts, most, last)
    assert run.kills.total() >= kills
    assert len(run.kills) == 4, "of every kind"
    keys, found, expected = run.job_keys(), run.answers(), undisturbed.answers()
    assert len(set(keys)) == jobs
    assert [found[key] for key in keys] == [expected[key] for key in keys]
    assert statuses(run) == {"ok"}, "no kill is held against a job"
    assert run.scores() == undisturbed.scores()
    print(f"\n{jobs} jobs, {run.starts} starts, {run.kills.total()} kills: {dict(run.kills)}")


def test_a_run_goes_on_when_all_its_workers_die_idle(tmp_path: Path) -> None:
    run = Disturbed(tmp_path, 60)
    with run.started({"PAUSE": "1"}) as process:
        assert kill_idle_workers(run, process) == 2
        _, messages = process.communicate()
    assert process.returncode == 0, messages
    assert statuses(run) == {"ok"}
    run.look()


def test_a_run_goes_on_when_its_busy_workers_are_killed_again_and_again(tmp_path: Path) -> None:
    run, random = Disturbed(tmp_path, 200), np.random.default_rng(3)
    run.allow(30)
    with run.started() as process:
        for _ in range(6):
            run.wait_for_evaluations(int(random.integers(1, 10)), 10, process)
            assert kill_worker(process, random) == 1
            wait(lambda: len(workers_of(process)) == 2, process)
        run.allow(10**12)
        _, messages = process.communicate()
    assert process.returncode == 0, messages
    assert statuses(run) == {"ok"}
    run.look()
