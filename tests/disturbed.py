"""Runs of many small jobs that somebody kills again and again, and what is left in their results folder.

How far a run gets before the next kill is decided by the model, which asks for permission before each evaluation and
waits without it. So a slow machine can make a test slow, but not change what it proves.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil

from commands import LONGEST

MODEL = '''
"""Atoms on springs to their centre. Before each evaluation of a case, one byte is appended to the file `asked`."""

import os
import time
from pathlib import Path

import numpy as np
from ase.calculators.calculator import Calculator

HERE, CASE_ATOMS = Path(__file__).parent, 3


def wait_for_permission():
    with open(HERE / "asked", "ab") as asked:
        asked.write(b".")
        asked.flush()
        while os.fstat(asked.fileno()).st_size > int((HERE / "allowed").read_text() or 0):
            time.sleep(0.005)


class Cheap(Calculator):
    implemented_properties = ["energy", "forces"]
    claims = {"elements": ("Cu",), "pbc": ("FFF",)}

    def calculate(self, atoms=None, properties=(), system_changes=()):
        if len(atoms) == CASE_ATOMS:
            wait_for_permission()
            if atoms.positions[0, 0] > float(os.environ.get("DIES_ABOVE", "inf")):
                os.kill(os.getpid(), 9)
        arms = atoms.positions - atoms.positions.mean(axis=0)
        self.results = {"energy": 0.5 * float((arms**2).sum()), "forces": -arms}
'''

BENCHMARK = '''
"""Many small jobs, each with a result of its own."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay import Benchmark, Case, Metric, Observation, SinglePoints, Structure

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Many(Benchmark):
    needs_noise = False
    metrics = (Metric("energy_error", "eV", threshold=0.02),)

    def cases(self, scope):
        if os.environ.get("PAUSE"):  # the survey is done, and no worker has anything to do
            (HERE / "planning").touch()
            while not (HERE / "go").exists():
                time.sleep(0.005)
        for number in range(int((HERE / "jobs").read_text())):
            positions = np.random.default_rng(number).uniform(0.0, 4.0, (3, 3))
            yield Case(f"case{number:05d}", {"point": SinglePoints((Structure.build([29] * 3, positions),))})

    def observe(self, case, outcomes):
        energy = outcomes["point"].points()[0].energy
        return Observation(case.id, "ok", {"energy_error": abs(energy - 4.0) / 50.0})
'''


Command = subprocess.Popen[str]


@contextmanager
def started(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None, limit: int | None = None
) -> Iterator[Command]:
    """The command `assay` in a process group of its own, which is gone afterwards.

    Args:
        folder: where it runs.
        arguments: its arguments.
        environment: variables beside those of this process.
        limit: the largest size of a file that it may write (bytes).
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    try:
        yield process
    finally:
        kill_group(process)


def wait(until: Callable[[], bool], process: Command) -> None:
    """Wait for something while the command is at work."""
    end = time.monotonic() + LONGEST
    while not until():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the run makes no progress"
        time.sleep(0.002)


@dataclass
class Disturbed:
    """A folder in which `assay run` is started, killed and started again, always with the same command."""

    folder: Path
    jobs: int
    workers: int = 2
    kills: Counter[str] = field(default_factory=Counter)
    """How many kills there were of each kind."""

    limit: int | None = None
    """The largest size of a file that the command may write (bytes)."""

    starts: int = 0
    warnings: list[str] = field(default_factory=list)
    """What the scores were printed with: torn lines, if a kill or a full disk left some."""

    seen: dict[str, str] = field(default_factory=dict)
    """The line of each finished job that was ever seen, by the key of the job."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"model.py": MODEL, "many.py": BENCHMARK, "jobs": str(self.jobs), "asked": ""}.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        self.allow(10**12)

    @property
    def results(self) -> Path:
        """The results folder."""
        return self.folder / "results"

    def allow(self, evaluations: int) -> None:
        """Let the model evaluate up to this number of cases in all; a file that is replaced is never half written."""
        (self.folder / "allowed.new").write_text(str(evaluations))
        os.replace(self.folder / "allowed.new", self.folder / "allowed")

    def started(self, environment: Mapping[str, str] | None = None) -> AbstractContextManager[Command]:
        """The command, which is gone afterwards."""
        self.starts += 1
        options = ("-b", "many.py:Many", "-j", str(self.workers), "--json")
        return started(self.folder, "run", "model.py:Cheap", *options, environment=environment, limit=self.limit)

    def to_the_end(self, code: int = 0, environment: Mapping[str, str] | None = None) -> str:
        """Run undisturbed, expect this exit code, and return the messages."""
        self.allow(10**12)
        with self.started(environment) as process:
            _, messages = process.communicate(timeout=LONGEST)
        assert process.returncode == code, messages
        return messages

    @property
    def asked(self) -> int:
        """How often the model was asked about a case so far."""
        return (self.folder / "asked").stat().st_size

    def wait_for_evaluations(self, more: int, surplus: int, process: Command) -> None:
        """Wait for more evaluations of cases; with a surplus the workers are still busy when they are there."""
        target = self.asked + more
        self.allow(target + surplus)
        wait(lambda: self.asked >= target, process)

    def lines(self) -> list[tuple[str, str, str]]:
        """Key, status and text of every line that is whole, in all files."""
        paths = sorted(self.results.glob("*/outcomes/*.jsonl"))
        texts = [text for path in paths for text in path.read_text(encoding="utf-8").split("\n")[:-1]]
        return [(row["key"], row["status"], text) for row, text in zip(map(json.loads, texts), texts, strict=True)]

    def look(self) -> None:
        """Nothing that was finished may be gone or changed or there twice."""
        finished = [(key, text) for key, status, text in self.lines() if status == "ok"]
        twice = [key for key, count in Counter(key for key, _ in finished).items() if count > 1]
        assert twice == [], f"{len(twice)} jobs were stored twice"
        now = dict(finished)
        gone = [key for key, text in self.seen.items() if now.get(key) != text]
        assert gone == [], f"{len(gone)} finished jobs were lost or changed"
        self.seen = now

    def job_keys(self) -> list[str]:
        """The keys of the jobs of all cases, in their order."""
        (path,) = self.results.glob("*/cases/*.json")
        return [key for case in json.loads(path.read_text(encoding="utf-8"))["cases"] for key in case["keys"].values()]

    def answers(self) -> dict[str, dict]:
        """What each finished job found, by its key."""
        return {key: json.loads(text)["values"] for key, status, text in self.lines() if status == "ok"}

    def scores(self) -> dict:
        """What `assay score --json --detail` prints, without the torn lines that it warns of."""
        done = subprocess.run(
            [sys.executable, "-m", "assay", "score", "results", "-b", "many.py:Many", "--json", "--detail"],
            cwd=self.folder, capture_output=True, text=True, timeout=LONGEST, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = dict(json.loads(done.stdout))
        self.warnings = found["models"][0].pop("warnings")
        return found


def workers_of(process: Command) -> list[psutil.Process]:
    """The worker processes of a command; Python's resource tracker, which it also starts, is not one."""
    with suppress(psutil.Error):
        return [child for child in psutil.Process(process.pid).children() if _is_worker(child)]
    return []


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("spawn_main" in word for word in process.cmdline())
    except psutil.Error:
        return False


def kill_group(process: Command) -> None:
    """Kill −9 the command and its workers, all at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def kill_main(process: Command) -> None:
    """Kill −9 the command alone; its workers end by themselves."""
    workers = workers_of(process)
    process.kill()
    process.wait()
    assert psutil.wait_procs(workers, timeout=LONGEST)[1] == []


def kill_worker(process: Command, random: np.random.Generator) -> int:
    """Kill −9 one of the workers; returns how many were killed."""
    workers = workers_of(process)
    if not workers:
        return 0
    workers[int(random.integers(len(workers)))].kill()
    return 1


def kill_idle_workers(run: Disturbed, process: Command) -> int:
    """Kill −9 all workers while they have nothing to do, in a command that was started with PAUSE; returns how many."""
    wait((run.folder / "planning").exists, process)
    workers = workers_of(process)
    for worker in workers:
        worker.kill()
    (run.folder / "go").touch()
    return len(workers)


def soak(run: Disturbed, random: np.random.Generator, restarts: int, most: int, last: int) -> None:
    """Start a run again and again, kill idle and busy workers and then the command; the last start goes to the end.

    Args:
        run: the run, in a folder without results.
        random: where the moments come from.
        restarts: how often the command is killed, alone or with its workers.
        most: evaluations between two kills, at most, and those that are allowed beyond the moment of a kill.
        last: how many busy workers are killed during the last start.
    """
    assert (5 * restarts + 2 * last + 3) * most < run.jobs, "so that something is left to do, however late kills come"
    for number in range(restarts):
        with _paused(run, most) as process:
            if number % 8 == 7:
                time.sleep(random.uniform(0.0, 3.0))  # at any moment of the start
            else:
                _kill_workers(run, process, random, most, busy=1)
            time.sleep(random.uniform(0.0, 0.01))
            (kill_main if number % 2 else kill_group)(process)
            run.kills["command" if number % 2 else "command and workers"] += 1
        run.look()
    with _paused(run, most) as process:
        _kill_workers(run, process, random, most, busy=last)
        run.allow(10**12)
        _, messages = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, messages
    run.look()


def _paused(run: Disturbed, allowed: int) -> AbstractContextManager[Command]:
    """The command, which waits when its workers are idle."""
    for name in ("planning", "go"):
        (run.folder / name).unlink(missing_ok=True)
    run.allow(run.asked + allowed)
    return run.started({"PAUSE": "1"})


def _kill_workers(run: Disturbed, process: Command, random: np.random.Generator, most: int, busy: int) -> None:
    """Kill idle workers, then busy ones, and let the run go on after each."""
    run.kills["idle worker"] += kill_idle_workers(run, process)
    for _ in range(busy):
        run.wait_for_evaluations(int(random.integers(1, most)), most, process)
        run.kills["busy worker"] += kill_worker(process, random)
    run.wait_for_evaluations(int(random.integers(1, most)), most, process)
