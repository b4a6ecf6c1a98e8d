"""A worker is judged by what it and its children do, never by how busy the machine is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import psutil
import pytest

from assay.compute import watchdog
from assay.compute.watchdog import Limits, Reading, Watch, advice, read_process
from commands import LONGEST

LIMITS = Limits(cpu=40.0, quiet=30.0)
START = Reading(clock=1000.0, cpu=7.0, answers=3, bytes=10**8)


def problem_after(readings: Iterable[Reading], limits: Limits = LIMITS) -> tuple[float, str]:
    """When (s) and why a worker would be killed; 0 and nothing if it is not."""
    watch = Watch(limits, replace(START, answers=START.answers - 1))
    assert watch.problem(START) == "", "it takes the bundle, which counts as an answer"
    for reading in readings:
        if problem := watch.problem(reading):
            return reading.clock - START.clock, problem
    return 0.0, ""


def each_second(seconds: int, **changes: float) -> list[Reading]:
    """Readings once a second of a worker for which some numbers grow by so much a second."""
    rates = {"clock": 1.0, **changes}
    return [
        replace(START, **{name: getattr(START, name) + rate * (i + 1) for name, rate in rates.items()})
        for i in range(seconds)
    ]


def test_a_worker_that_does_nothing_hangs_after_the_timeout() -> None:
    when, why = problem_after(each_second(100))
    assert when == 30.0
    assert why == "the worker used no CPU time and gave no answer for 30 s"


def test_background_threads_do_not_hide_a_hang() -> None:
    assert problem_after(each_second(100, cpu=0.005))[0] == 30.0


@pytest.mark.parametrize("share", [0.02, 0.2, 1.0])
def test_a_worker_that_gets_little_of_a_core_does_not_hang_and_has_the_same_cpu_time(share: float) -> None:
    when, why = problem_after(each_second(2500, cpu=share))
    assert why == "no answer within 40 s of CPU time"
    assert when == pytest.approx(40.0 / share, abs=1.01)


def test_the_start_of_a_new_process_is_not_part_of_the_deadline() -> None:
    watch = Watch(LIMITS, START)
    assert {watch.problem(reading) for reading in each_second(100, cpu=1.0)} == {""}
    taken = each_second(200, cpu=1.0)[100:]
    problems = [watch.problem(replace(reading, answers=START.answers + 1)) for reading in taken]
    assert problems.index("no answer within 40 s of CPU time") == 41


def test_several_threads_do_not_shorten_the_deadline() -> None:
    assert problem_after(each_second(100, cpu=16.0))[0] == pytest.approx(41.0)


@pytest.mark.parametrize("sign", [{"answers": 1}, {"bytes": 100_000}])
def test_answers_and_loaded_bytes_are_signs_of_life(sign: dict[str, float]) -> None:
    assert problem_after(each_second(3000, **sign)) == (0.0, "")


def test_a_worker_that_waits_for_a_core_or_the_disk_does_not_hang() -> None:
    starved = [replace(reading, waits_for_machine=True) for reading in each_second(3000)]
    assert problem_after(starved) == (0.0, "")


def test_one_sign_of_life_starts_the_timeout_again() -> None:
    readings = each_second(100)
    later = [replace(reading, answers=reading.answers + (i >= 20)) for i, reading in enumerate(readings)]
    assert problem_after(later)[0] == 51.0


def test_a_stopped_worker_is_found_and_the_reason_says_so() -> None:
    when, why = problem_after([replace(reading, stopped=True) for reading in each_second(100)])
    assert (when, why) == (30.0, "the worker was stopped by a signal for 30 s")


def test_time_in_which_the_main_process_did_not_run_does_not_count() -> None:
    asleep = [replace(START, clock=START.clock + 3600.0 * (i + 1)) for i in range(10)]
    assert problem_after(asleep) == (0.0, "")


def test_there_is_a_far_outer_limit_on_the_clock() -> None:
    blocked = [replace(reading, waits_for_machine=True) for reading in each_second(10_000)]
    when, why = problem_after(blocked)
    assert when == pytest.approx(50.0 * 40.0 + 3600.0, abs=1.01)
    assert why == "no answer within 1.6 h on the clock"


def test_a_short_timeout_is_watched_more_often() -> None:
    assert Limits(1.0, 30.0).interval == watchdog.INTERVAL
    assert Limits(1.0, 1.0).interval == 0.25


def test_the_advice_names_the_load_the_cores_and_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (17.2, 1.0, 1.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert advice(30.0) == " at a load of 17 on 2 cores; give more with --timeout 120"


@contextmanager
def program(code: str) -> Iterator[psutil.Process]:
    """A Python program, until the end of the block."""
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def wait_until(process: psutil.Process, **wanted: object) -> Reading:
    """The first reading with these values; at least so much CPU time."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        reading = read_process(process, time.monotonic(), 0)
        if all(getattr(reading, k) >= v if k == "cpu" else getattr(reading, k) == v for k, v in wanted.items()):
            return reading
        time.sleep(0.02)
    raise AssertionError(f"the program never shows {wanted}")


SPIN = "while True: sum(range(1000))"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"


@pytest.mark.parametrize(
    "code", [SPIN, CHILD, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"]
)
def test_the_cpu_time_of_children_and_their_children_counts(code: str) -> None:
    with program(code) as process:
        reading = wait_until(process, cpu=0.5, waits_for_machine=True)
    assert not reading.stopped


def test_the_cpu_time_of_children_that_have_ended_counts() -> None:
    child = "import time\nwhile time.process_time() < 1.0: pass"  # the system counts in ticks, and may miss some
    code = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {child!r}]); time.sleep(3600)"
    with program(code) as process:
        wait_until(process, cpu=0.5, waits_for_machine=False)
        assert process.children() == []


def test_stopped_and_sleeping_programs_are_told_apart() -> None:
    with program("import time; time.sleep(3600)") as process:
        wait_until(process, waits_for_machine=False, stopped=False)
        process.suspend()
        wait_until(process, waits_for_machine=False, stopped=True)


def test_a_program_that_has_ended_reads_as_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        known = psutil.Process(process.pid)
    reading = read_process(known, 5.0, 3)
    assert reading == Reading(clock=5.0, cpu=0.0, answers=3)
