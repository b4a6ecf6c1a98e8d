"""CPU time: what a computation costs, however busy the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

Clock = Callable[[], float]
"""A function that returns seconds; only differences between two calls mean something."""


def cpu_seconds() -> float:
    """CPU seconds of this process, all its threads, and the child processes that have ended."""
    return time.process_time() + _ended_children()


def _ended_children() -> float:
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:  # Windows, which does not keep these times
        return 0.0
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_cpu(device: str) -> bool:
    """True for a model that computes on the CPU, as far as its calculator says where."""
    return not device or device.startswith("cpu")


def clock_of(device: str) -> Clock:
    """The clock that measures evaluations on a device: CPU time, or wall time for a model on an accelerator.

    The CPU waits while an accelerator computes, so its CPU time would miss the work. Child processes that are running
    now, such as the server of a model, are included; they are looked for only once, because that takes milliseconds.
    """
    if not is_cpu(device):
        return time.perf_counter
    import psutil

    children = psutil.Process(os.getpid()).children(recursive=True)

    def seconds() -> float:
        return cpu_seconds() + sum(map(_used_by, children))

    def _used_by(process: psutil.Process) -> float:
        try:
            times = process.cpu_times()
        except psutil.Error:  # it has ended, and is counted with the children that have
            return 0.0
        return float(times.user + times.system)

    return seconds if children else cpu_seconds
