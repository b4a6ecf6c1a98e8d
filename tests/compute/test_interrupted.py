"""A run that is killed goes on where it was, and ends bit by bit as one that nobody touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path

import numpy as np
import psutil
import pytest

from assay.compute.protocols import Ending, carry_out
from assay.compute.protocols.dynamics import run_dynamics
from assay.jobs import Dynamics
from assay.outcome import Point, no_point
from assay.store import Store, trajectory
from assay.store.trajectory import SERIES, Recorder, Trajectory
from assay.structure import Structure
from commands import LONGEST
from run_cases import springs

FRAMES = 501  # 2000 steps of suite smoke, a frame every 4
KILLS, CALLS_BEFORE_A_KILL = 5, 300
"""The model of a run that will be killed stops after this number of evaluations, however late the kill comes."""

MODEL = '''
"""Springs at the distances of the reference geometry; slow, and saved often: a kill hits the middle of a run."""

import itertools
import os
import time

import numpy as np
from ase.calculators.calculator import Calculator

from assay.store import trajectory
from assay.data.source import DataSource

trajectory.CHUNK_SECONDS = 0.15
REST = DataSource().read("bonds")[0].records[0].structures[0]
FIRST, SECOND = np.triu_indices(len(REST), 1)
LENGTHS = np.linalg.norm(REST.positions[FIRST] - REST.positions[SECOND], axis=1)
SECONDS, MOST = float(os.environ["SECONDS_PER_CALL"]), float(os.environ["MOST_CALLS"])
calls = itertools.count()


class Springs(Calculator):
    implemented_properties = ["energy", "forces"]
    claims = {"elements": ("H", "C"), "pbc": ("FFF",)}

    def calculate(self, atoms=None, properties=(), system_changes=()):
        if not np.array_equal(atoms.numbers, REST.numbers):
            self.results = {"energy": float(atoms.positions.sum()), "forces": np.ones((len(atoms), 3))}
            return
        time.sleep(SECONDS if next(calls) < MOST else 3600.0)
        arms = atoms.positions[FIRST] - atoms.positions[SECOND]
        found = np.linalg.norm(arms, axis=1)
        pull = (20.0 * (found - LENGTHS) / found)[:, None] * arms
        forces = np.zeros((len(atoms), 3))
        np.add.at(forces, FIRST, -pull)
        np.add.at(forces, SECOND, pull)
        self.results = {"energy": 10.0 * float(((found - LENGTHS) ** 2).sum()), "forces": forces}
'''


class Run:
    """A folder in which `assay run` is started again and again, always with the same command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "model.py").write_text(MODEL, encoding="utf-8")

    @contextmanager
    def started(self, seconds: float = 5e-3, most: float = inf) -> Iterator[subprocess.Popen[str]]:
        """The command in a process group of its own, which is gone afterwards."""
        options = ("-b", "bond_lengths", "--limit", "1", "-j", "1", "--json")
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "run", "model.py:Springs", *options],
            cwd=self.folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "SECONDS_PER_CALL": str(seconds), "MOST_CALLS": str(most)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill_group(process)

    def to_the_end(self, seconds: float = 0.0) -> dict:
        """What the command prints when nobody disturbs it; how long an evaluation takes (s) changes no number."""
        with self.started(seconds) as process:
            printed, complaints = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, complaints
        return dict(json.loads(printed))

    @property
    def chunks(self) -> dict[str, bytes]:
        """What is on disk of the unfinished trajectory."""
        return {path.name: path.read_bytes() for path in self.folder.glob("results/*/trajectories/*.parts/*/*.h5")}

    @property
    def frames(self) -> int:
        """How many frames are on disk."""
        return sum(len(Trajectory(folder.with_suffix(".h5"))) for folder in self.folder.glob("results/*/*/*.parts"))

    def wait_for_frames(self, process: subprocess.Popen[str], more_than: int) -> None:
        """Until the run has written more than it had."""
        deadline = time.monotonic() + LONGEST
        while self.frames <= more_than:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    @property
    def trajectory(self) -> dict[str, np.ndarray]:
        """Every number of the finished trajectory."""
        (path,) = self.folder.glob("results/*/trajectories/*.h5")
        found = Trajectory(path)
        positions = np.concatenate([frames.positions for frames in found.chunks(50)])
        return {"positions": positions, **{name: found.series(name) for name in SERIES}}

    @property
    def simulations(self) -> list[dict]:
        """What the store says of finished simulations."""
        stores = [Store(path) for path in self.folder.glob("results/*") if path.is_dir()]
        values = [outcome.values for store in stores for outcome in store.outcomes().values()]
        return [dict(v) for v in values if "trajectory" in v]


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill −9 the command and its workers, all at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


def same(one: Run, other: Run) -> bool:
    """True when two trajectories have the same bits."""
    mine, yours = one.trajectory, other.trajectory
    return all(mine[name].tobytes() == yours[name].tobytes() for name in mine) and mine.keys() == yours.keys()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict]:
    """A run from start to end, and what it printed; it does not have to be slow."""
    run = Run(tmp_path_factory.mktemp("undisturbed") / "run")
    return run, run.to_the_end()


def test_five_kills_at_random_moments_leave_no_trace(tmp_path: Path, undisturbed: tuple[Run, dict]) -> None:
    random = np.random.default_rng(5)
    run, frames = Run(tmp_path / "run"), 0
    for _ in range(KILLS):
        kept = run.chunks
        with run.started(most=CALLS_BEFORE_A_KILL) as process:
            run.wait_for_frames(process, frames)
            time.sleep(random.uniform(0.0, 0.4))
            kill_group(process)
        assert run.simulations == [], "the kill came in the middle of the run"
        assert frames < run.frames < FRAMES, "each attempt goes on from where the last one was"
        assert {name: run.chunks[name] for name in kept} == kept, "and leaves what was there as it was"
        frames = run.frames
    printed = run.to_the_end()
    assert len(run.trajectory["step"]) == FRAMES
    assert same(run, undisturbed[0])
    assert run.simulations == undisturbed[0].simulations
    assert printed == undisturbed[1]


def test_workers_do_not_outlive_the_command(tmp_path: Path, undisturbed: tuple[Run, dict]) -> None:
    run = Run(tmp_path / "run")
    with run.started() as process:
        run.wait_for_frames(process, 0)
        workers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)  # the command alone, as the kernel does when memory is short
        process.wait()
        printed = run.to_the_end()  # two writers of one trajectory would spoil it
        assert not psutil.wait_procs(workers, timeout=LONGEST)[1]
    assert same(run, undisturbed[0])
    assert printed == undisturbed[1]


REST = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
JOB = Dynamics(Structure.build([29] * 3, REST), steps=24, interval=3)


class Killed(BaseException):
    """Stands for a kill: what comes after is never done."""


class Mortal:
    """A function that is killed at its n-th step, where each call has two: before and after its work."""

    def __init__(self, work: Callable[..., object], moment: int) -> None:
        self.work, self.left = work, moment

    def __call__(self, *arguments: object, **options: object) -> None:
        """Do the work, if there is time."""
        self.step()
        self.work(*arguments, **options)
        self.step()

    def instead_of(self, work: Callable[..., object]) -> Callable[..., None]:
        """Another function that has its steps in common with this one."""

        def call(*arguments: object) -> None:
            self.step()
            work(*arguments)
            self.step()

        return call

    def step(self) -> None:
        """One step nearer to the kill."""
        if self.left == 0:
            raise Killed
        self.left -= 1


def let_die(patched: pytest.MonkeyPatch, moment: int) -> None:
    """Kill this process at the n-th step of giving files and folders their names."""
    mortal = Mortal(os.replace, moment)
    patched.setattr(os, "replace", mortal)
    patched.setattr(os, "link", mortal.instead_of(os.link))


def simulated(path: Path, calls: list[int], refuses: int) -> tuple[Ending, bytes]:
    """Three atoms on springs: how the simulation ended, and all positions; `calls` grows with each evaluation."""
    model = springs(REST)

    def answer(structures: Sequence[Structure]) -> list[Point]:
        calls.append(1)
        (point,) = (Point(*model(s)) for s in structures)
        return [point if len(calls) <= refuses else no_point(3, "no more")]

    ending = carry_out(run_dynamics(JOB, Recorder(path, 3)), answer)
    return ending, b"".join(frames.positions.tobytes() for frames in Trajectory(path).chunks())


def test_there_is_no_wrong_moment_for_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory, "CHUNK_SECONDS", 0.0)  # a chunk for every frame
    undisturbed = simulated(tmp_path / "undisturbed" / "a.h5", [], 1000)
    for moment in range(1000):
        path, calls = tmp_path / str(moment) / "a.h5", list[int]()
        with monkeypatch.context() as patched:
            let_die(patched, moment)
            try:
                simulated(path, calls, 1000)
                break  # so many moments there are not
            except Killed:
                pass
        assert simulated(path, calls, 1000) == undisturbed
        assert len(calls) <= 1 + JOB.steps + JOB.interval, "only what followed the last chunk is computed again"
        assert [item.name for item in path.parent.iterdir()] == ["a.h5"]
    assert moment == 2 * (9 + 1 + 1), "chunks, the whole file, and the folder of chunks"


def test_a_run_that_failed_fails_in_the_same_way_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = simulated(tmp_path / "undisturbed" / "a.h5", [], 16)
    assert undisturbed[0].reason == "at step 16: no more"
    for moment in range(6):
        path = tmp_path / str(moment) / "a.h5"
        with monkeypatch.context() as patched:
            let_die(patched, moment)
            with pytest.raises(Killed):
                simulated(path, [], 16)
        refuses = 16 if moment == 0 else 0  # with a chunk on disk the model is not asked any more
        assert simulated(path, [], refuses) == undisturbed


def test_frames_that_two_processes_have_written_are_there_once(tmp_path: Path) -> None:
    """A command that was killed alone may leave a worker that writes for a moment beside its successor."""
    one, other = Recorder(tmp_path / "a.h5", 1), Recorder(tmp_path / "a.h5", 1)
    for recorder, chunks in ((one, (range(4), range(4, 9))), (other, (range(4, 6), range(6, 8), range(8, 12)))):
        for steps in chunks:
            for step in steps:
                recorder.add(np.full((1, 3), float(step)), (step, -step, 0.0, 0.0))
            recorder.save({"step": steps[-1]})
            if steps == range(4):
                assert other.resume() == {"step": 3}
    other.finish({"step": 11})
    assert Trajectory(tmp_path / "a.h5").series("step").tolist() == list(range(12))
    assert Recorder(tmp_path / "a.h5", 1).resume() == {"step": 11}
