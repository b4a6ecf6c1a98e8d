"""Two commands at once in one results folder, also at one simulation, and one of them is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from assay.store.trajectory import SERIES, Trajectory
from commands import command
from disturbed import Command, Disturbed, kill_group, kill_main, started, wait, workers_of
from spring_model import RUN_SPRINGS, write_springs

JOBS = 300


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(2, 22))])
def test_a_run_is_not_disturbed_by_another_one_that_is_killed(tmp_path: Path, seed: int) -> None:
    undisturbed, run = Disturbed(tmp_path / "undisturbed", JOBS), Disturbed(tmp_path / "run", JOBS, workers=1)
    undisturbed.to_the_end()
    random = np.random.default_rng(seed)
    run.allow(20)
    with run.started() as one, run.started() as other:
        run.wait_for_evaluations(int(random.integers(1, 100)), 50, one)
        wait(lambda: bool(workers_of(other)), other)
        (kill_main if seed % 2 else kill_group)(other)
        run.allow(10**12)
        _, messages = one.communicate()
    assert one.returncode == 0, messages
    assert run.scores() == undisturbed.scores()
    found, expected = run.answers(), undisturbed.answers()
    assert [found[key] for key in run.job_keys()] == [expected[key] for key in run.job_keys()]


OFTEN = "from assay.store import trajectory\ntrajectory.CHUNK_BYTES = 1000\nimport os, pathlib, time\nCALLS = []\n"
TOGETHER = """\
        here = pathlib.Path(__file__).parent
        (here / f"at-work-{os.getpid()}").touch()
        while len(list(here.glob("at-work-*"))) < int(os.environ.get("TOGETHER", "1")):
            time.sleep(0.005)
        CALLS.append(1)
        if len(CALLS) > float(os.environ.get("MOST_CALLS", "inf")):
            (here / "stopped").touch()
            time.sleep(3600.0)
"""
"""The simulation begins when this number of processes are there, and stops after some calls if it is told so."""


def frames(folder: Path) -> dict[str, bytes]:
    """Every bit of the one finished trajectory; a run that was killed after another had finished may leave chunks."""
    (path,) = folder.glob("results/*/trajectories/*.h5")
    found = Trajectory(path)
    positions = np.concatenate([part.positions for part in found.chunks()])
    assert len(positions) == 81
    return {"positions": positions.tobytes(), **{name: found.series(name).tobytes() for name in SERIES}}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """The folder of one command, and what it printed."""
    folder = tmp_path_factory.mktemp("alone")
    write_springs(folder, OFTEN, TOGETHER)
    done = command(*RUN_SPRINGS, "-j", "1", where=folder)
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


@contextmanager
def at_work(folder: Path, most: int | None = None) -> Iterator[Command]:
    """A command that begins the simulation together with another one, and gets no further than some calls."""
    limit = {} if most is None else {"MOST_CALLS": str(most)}
    with started(folder, *RUN_SPRINGS, "-j", "1", environment={"TOGETHER": "2", **limit}) as process:
        yield process


def test_two_runs_at_one_simulation_both_end_with_all_frames(tmp_path: Path, alone: tuple[Path, dict]) -> None:
    write_springs(tmp_path, OFTEN, TOGETHER)
    with at_work(tmp_path) as one, at_work(tmp_path) as other:
        for process in (one, other):
            printed, messages = process.communicate()
            assert process.returncode == 0, messages
            assert json.loads(printed) == alone[1]
    assert frames(tmp_path) == frames(alone[0])


@pytest.mark.parametrize("calls", [30, 130, *(pytest.param(n, marks=pytest.mark.faults) for n in range(50, 400, 25))])
def test_a_run_that_is_killed_does_not_spoil_the_simulation_of_another(
    tmp_path: Path, alone: tuple[Path, dict], calls: int
) -> None:
    write_springs(tmp_path, OFTEN, TOGETHER)
    with at_work(tmp_path) as one, at_work(tmp_path, calls) as other:
        wait((tmp_path / "stopped").exists, other)
        kill_group(other)
        printed, messages = one.communicate()
    assert one.returncode == 0, messages
    assert json.loads(printed) == alone[1]
    assert frames(tmp_path) == frames(alone[0])
