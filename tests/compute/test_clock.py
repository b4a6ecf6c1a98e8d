"""CPU time counts what this process and its children compute, and nothing that other programs do."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from assay.compute.clock import clock_of, cpu_seconds, is_cpu

COMPUTES = "import time\nwhile time.process_time() < 0.5: pass"


def test_children_that_have_ended_count() -> None:
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", COMPUTES], check=True)
    assert cpu_seconds() - before >= 0.5


def test_children_that_are_still_running_count_for_evaluations() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as server:
        try:
            clock = clock_of("cpu")
            start = clock()
            while clock() - start < 0.5:  # it ends however slow the machine is, because the server computes
                time.sleep(0.02)
        finally:
            server.kill()
    assert clock() >= 0.0, "a child that has ended is no error"


@pytest.mark.parametrize(
    ("device", "cpu"), [("cpu", True), ("", True), ("cuda", False), ("cuda:1", False), ("mps", False)]
)
def test_times_on_an_accelerator_are_wall_times(device: str, cpu: bool) -> None:
    assert is_cpu(device) is cpu
    assert (clock_of(device) is time.perf_counter) is not cpu
