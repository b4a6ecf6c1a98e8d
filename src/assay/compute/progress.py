"""Reports how far simulations have come while they run, so that the progress bar moves during hours of work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.store.trajectory import steps_on_disk, trajectory_path

INTERVAL = 2.0
"""Seconds between two reports."""

THREAD = "assay simulation progress"
"""The name of the thread that reports."""


@contextmanager
def report_simulation_steps(folder: Path, keys: Iterable[str], report: Callable[[int], None]) -> Iterator[None]:
    """While the body runs, report every few seconds how many steps of these unfinished simulations are on disk.

    Args:
        folder: the folder of the store.
        keys: keys of the simulations' jobs; without any, no thread is started.
        report: called from another thread with the number of steps of all simulations together.
    """
    paths, finished = [trajectory_path(folder, key) for key in keys], threading.Event()

    def watch() -> None:
        while not finished.wait(INTERVAL):
            report(sum(map(steps_on_disk, paths)))

    watcher = threading.Thread(target=watch, daemon=True, name=THREAD)
    if paths:
        watcher.start()
    try:
        yield
    finally:
        finished.set()
        if paths:
            watcher.join()
