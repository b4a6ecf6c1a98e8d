"""Requests to stop, full and closed outputs, children that are left behind, and bugs: what the command does then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from commands import LONGEST, heed_ctrl_c

SLOW_MODEL = """
import os, pathlib, time
from assay.sabotage.sound import SoundPotential

class Slow(SoundPotential):
    claims = ('Cu',)
    def evaluate(self, atoms):
        done = pathlib.Path('calls')
        done.write_text(str(int(done.read_text() or 0) + 1 if done.exists() else 1))
        {what}
        return super().evaluate(atoms)
"""
SLEEP = "time.sleep(0.02)"
CATCHES = "\n        try: time.sleep(0.02)\n        except BaseException as e: raise RuntimeError('caught') from e"
SWALLOWS = "\n        try: time.sleep(0.02)\n        except: pass"
CHECK = ("-b", "inversion_symmetry", "--json")


@contextmanager
def started(folder: Path, *arguments: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process of its own, which is gone afterwards."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}  # type: ignore[dict-item]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments],
        cwd=folder,
        env=environment,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},  # type: ignore[arg-type]
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(there: Path, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LONGEST
    while not there.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def rows(folder: Path) -> list[dict]:
    texts = [line for path in folder.glob("results/*/outcomes/*.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(text) for text in texts]


@pytest.mark.usefixtures("ctrl_c_is_ignored")
@pytest.mark.parametrize(
    ("what", "number"),
    [(SLEEP, 15), (CATCHES, 15), (SWALLOWS, 15), (SWALLOWS, 2)],
    ids=["passes", "catches", "swallows", "swallows ctrl-c"],
)
def test_a_signal_in_a_run_without_workers_stops_it_and_keeps_what_is_finished(
    tmp_path: Path, what: str, number: int
) -> None:
    (tmp_path / "model.py").write_text(SLOW_MODEL.format(what=what))
    with started(tmp_path, "check", "model.py:Slow", "-j", "0", *CHECK) as process:
        wait_until(tmp_path / "calls", process)
        while int((tmp_path / "calls").read_text() or 0) < 10:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=LONGEST)
    assert process.returncode == 128 + number
    assert b"stopped; finished jobs are kept" in complaint
    kept = rows(tmp_path)
    assert kept, "the first jobs were finished"
    assert not [row for row in kept if "caught" in row["reason"] or "signal" in row["reason"]], "a stop is no refusal"


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("guard", ["", "except: pass"], ids=["plain", "swallows"])
def test_sigterm_while_the_model_is_imported_stops_the_command(tmp_path: Path, workers: str, guard: str) -> None:
    body = "import pathlib, time\ntry:\n    pathlib.Path('importing').touch()\n    time.sleep(60 if not 0 else 0)\n"
    (tmp_path / "model.py").write_text(
        body + (guard or "finally: pass") + "\nfrom assay.sabotage.sound import SoundPotential as Mine\n"
    )
    with started(tmp_path, "check", "model.py:Mine", "-j", workers, *CHECK) as process:
        wait_until(tmp_path / "importing", process)
        time.sleep(0.2)
        process.terminate()
        _, complaint = process.communicate(timeout=LONGEST)
    assert (process.returncode, b"Traceback" in complaint) == (143, False)


LEAVES_A_CHILD = """
import subprocess, sys
from assay.sabotage.sound import SoundPotential

class Mine(SoundPotential):
    claims = ('Cu',)
    def __init__(self):
        super().__init__()
        code = 'import time, pathlib, os; pathlib.Path(f"child-{os.getpid()}").touch(); time.sleep(300)'
        if DAEMON:
            code = f'import subprocess, sys; subprocess.Popen([sys.executable, "-c", {code!r}], start_new_session=True)'
        child = subprocess.Popen([sys.executable, '-c', code])
        if DAEMON:
            child.wait()
"""


@pytest.mark.parametrize("daemon", [False, True], ids=["child", "daemon"])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_child_that_the_model_leaves_behind_does_not_keep_the_output_open(
    tmp_path: Path, workers: str, daemon: bool
) -> None:
    (tmp_path / "model.py").write_text(f"DAEMON = {daemon}\n" + LEAVES_A_CHILD)
    with started(tmp_path, "check", "model.py:Mine", "-j", workers, *CHECK, stderr=subprocess.STDOUT) as process:
        printed, _ = process.communicate(timeout=LONGEST)  # ends only when nobody has the pipe any more
    assert process.returncode == 0, printed
    numbers = [int(path.name.removeprefix("child-")) for path in tmp_path.glob("child-*")]
    assert numbers
    assert [number for number in numbers if psutil.pid_exists(number)] == []


def test_a_full_output_is_one_sentence(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no device that is always full")
    for arguments in (("list", "models"), ("list", "models", "--json"), ("list", "data")):
        with open("/dev/full", "w") as full, started(tmp_path, *arguments, stdout=full) as process:
            _, complaint = process.communicate(timeout=LONGEST)
        assert process.returncode == 2
        assert complaint.decode().startswith("assay: the output cannot be written (No space left on device); ")
        assert complaint.count(b"\n") == 1


@pytest.mark.parametrize("closed", ["1", "2", "1 2"])
def test_a_closed_output_is_no_reason_to_fail(tmp_path: Path, closed: str) -> None:
    redirect = " ".join(f"{number}>&-" for number in closed.split())
    line = f"exec {sys.executable} -m assay list benchmarks {redirect}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, timeout=LONGEST, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


NO_UNICODE = {"PYTHONUTF8": "0", "COLUMNS": "200"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_an_output_without_unicode_is_spelt_out(tmp_path: Path, encoding: str, form: tuple[str, ...]) -> None:
    with started(tmp_path, "list", "data", *form, env={**NO_UNICODE, "PYTHONIOENCODING": encoding}) as process:
        printed, complaint = process.communicate(timeout=LONGEST)
    assert (process.returncode, complaint) == (0, b"")
    text = printed.decode(encoding)
    if form:
        assert any("ω" in row["level"] for row in json.loads(text)["data"]), "as a JSON escape"
    else:
        assert r"\u03c9" in text


def test_a_reader_that_ends_early_is_no_error(tmp_path: Path) -> None:
    line = f"{sys.executable} -m assay list data --json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, timeout=LONGEST, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


BROKEN_BENCHMARK = """
from dataclasses import dataclass
from assay import Benchmark

@dataclass(frozen=True)
class Mine(Benchmark):
    def cases(self, scope):
        raise KeyError("a bug \\x1b[31m")
"""


def test_a_bug_has_an_exit_code_of_its_own_and_a_file_with_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BROKEN_BENCHMARK)
    arguments = ("run", "assay.sabotage:sound", "-b", "mine.py:Mine", "-j", "0", "--elements", "Cu")
    with started(tmp_path, *arguments, env={"TMPDIR": str(tmp_path)}) as process:
        printed, complaint = process.communicate(timeout=LONGEST)
    assert (process.returncode, printed) == (4, b"")
    (kept,) = tmp_path.glob("assay-error-*.txt")
    last = complaint.decode().splitlines()[-1]
    assert last.startswith("assay: this is an error of Assay itself (KeyError: ")
    assert last.endswith(f"with the file '{kept}'")
    assert "\x1b" not in complaint.decode()
    text = kept.read_text()
    assert "Traceback (most recent call last)" in text
    assert "'mine.py:Mine'" in text
    assert kept.stat().st_mode & 0o077 == 0, "nobody else can read it"
