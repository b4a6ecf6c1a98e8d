"""Decides whether a worker that has not finished its bundle computes or hangs.

A busy machine makes every program slow. So a worker is judged by the CPU time that it and its children use, not by wall
time: one that computes is left alone until it has used far more CPU time than its jobs should need, and one that uses
none, waits for no core or disk and makes no progress hangs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

INTERVAL = 1.0
"""Seconds between two readings; a quarter of the patience, if that is less."""

BUSY_SHARE = 0.01
"""A worker that uses less than this share of a core during its patience is not computing. Threads that only wait for
events use less. A program that computes gets more even if 100 others want the same core."""

LOADED_BYTES = 1_000_000
"""A worker that reads or writes more than this during its patience is loading something."""

OUTER_FACTOR, OUTER_SECONDS = 50.0, 3600.0
"""No bundle takes longer on the clock than this factor times its deadline in CPU time, plus an hour. The factor allows
for a machine with 50 programs for each core."""


@dataclass(frozen=True)
class Limits:
    """What a bundle may take: CPU seconds in all, and seconds without any sign of life."""

    cpu: float
    quiet: float

    @property
    def clock(self) -> float:
        """The far outer limit, in seconds on the clock."""
        return OUTER_FACTOR * self.cpu + OUTER_SECONDS

    @property
    def interval(self) -> float:
        """Seconds between two readings."""
        return min(INTERVAL, self.quiet / 4.0)


@dataclass(frozen=True)
class Reading:
    """What the system says about a worker and its children at one moment."""

    clock: float
    """Seconds on a clock that never goes back."""

    cpu: float
    """CPU seconds since the worker was started."""

    answers: int = 0
    """Evaluations and jobs that were finished since the worker was started."""

    bytes: int = 0
    """Bytes read and written since the worker was started."""

    waits_for_machine: bool = False
    """True if a process waits for a core, or for the disk: then it uses no CPU time, but it does not hang."""

    stopped: bool = False
    """True if a signal has stopped the worker."""


class Watch:
    """Watches a worker during one bundle.

    `sent` is a reading from before the bundle was sent. The deadline counts from when the worker has taken the bundle,
    which it shows as an answer: a new process first has to start, which the jobs of the bundle are not blamed for.
    """

    def __init__(self, limits: Limits, sent: Reading) -> None:
        self.limits, self.sent, self.last, self.alive = limits, sent, sent, sent
        self.first: Reading | None = None
        self.seconds = self.quiet = 0.0

    def problem(self, now: Reading) -> str:
        """Why the worker must be killed, as a part of a sentence; empty if it may go on.

        Time in which no reading was made does not count: the main process may have been stopped or had no core, too.
        """
        passed = min(now.clock - self.last.clock, 2.0 * self.limits.interval)
        self.seconds += passed
        self.quiet = 0.0 if self._shows_life(now) else self.quiet + passed
        if self.quiet == 0.0:
            self.alive = now
        self.last = now
        if self.first is None and now.answers != self.sent.answers:
            self.first = now
        # With several threads CPU time runs faster than the clock, which must not shorten the deadline.
        used = min(now.cpu - self.first.cpu, self.seconds) if self.first is not None else 0.0
        if self.quiet >= self.limits.quiet:
            state = "was stopped by a signal" if now.stopped else "used no CPU time and gave no answer"
            return f"the worker {state} for {self.quiet:.0f} s"
        if used > self.limits.cpu:
            return f"no answer within {self.limits.cpu:.0f} s of CPU time"
        if self.seconds > self.limits.clock:
            return f"no answer within {self.limits.clock / 3600.0:.1f} h on the clock"
        return ""

    def _shows_life(self, now: Reading) -> bool:
        return (
            now.waits_for_machine
            or now.answers != self.alive.answers
            or now.cpu - self.alive.cpu > BUSY_SHARE * self.limits.quiet
            or now.bytes - self.alive.bytes > LOADED_BYTES
        )


def advice(timeout: float) -> str:
    """The load of the machine, and the option that allows more time."""
    load = f" at a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else ""
    return f"{load}; give more with --timeout {ceil(4.0 * timeout)}"


def read_process(process: psutil.Process, clock: float, answers: int) -> Reading:
    """Read a worker and all its descendants; a process that has just ended counts as nothing."""
    import psutil

    family = [process]
    with suppress(psutil.Error):
        family += process.children(recursive=True)
    states = list(_states(family))
    return Reading(
        clock=clock,
        cpu=sum(map(_cpu, family)),
        answers=answers,
        bytes=sum(map(_bytes, family)),
        waits_for_machine=any(state in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP) for state in states),
        stopped=bool(states) and states[0] in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP),
    )


def _states(family: Iterable[psutil.Process]) -> Iterable[str]:
    import psutil

    for process in family:
        with suppress(psutil.Error):
            yield process.status()


def _cpu(process: psutil.Process) -> float:
    """CPU seconds of a process and of its children that have ended."""
    import psutil

    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def _bytes(process: psutil.Process) -> int:
    """Bytes read and written by a process, caches included; 0 where the system does not tell."""
    import psutil

    with suppress(psutil.Error, AttributeError):
        used = process.io_counters()
        return int(getattr(used, "read_chars", used.read_bytes) + getattr(used, "write_chars", used.write_bytes))
    return 0
