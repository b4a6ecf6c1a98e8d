"""How far simulations have come while they run, so that work of hours is not silent until its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.store.trajectory import steps_on_disk, trajectory_path

INTERVAL = 2.0
"""Seconds between two looks."""


@contextmanager
def lookout(folder: Path, keys: Iterable[str], tell: Callable[[int], None]) -> Iterator[None]:
    """While the body runs, tell every few seconds how many steps of these unfinished simulations are on disk."""
    paths, over = [trajectory_path(folder, key) for key in keys], threading.Event()

    def look() -> None:
        while not over.wait(INTERVAL):
            tell(sum(map(steps_on_disk, paths)))

    watcher = threading.Thread(target=look, daemon=True, name="assay lookout")
    if paths:
        watcher.start()
    try:
        yield
    finally:
        over.set()
        if paths:
            watcher.join()
