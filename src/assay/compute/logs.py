"""What a model prints in a worker: one log for each worker, of limited size, and not more than a few of them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

LARGEST = 10 * 2**20
"""Largest size of a log (bytes). What is printed beyond it replaces the first half."""

MOST = 50
"""Logs that are kept in a results folder; the oldest are deleted."""

INTERVAL = 1.0
"""Seconds between two looks at the size."""


def print_to_log(folder: Path) -> None:
    """Send everything that this process prints to a new log in a folder, and keep the log small as long as it lives."""
    folder.mkdir(parents=True, exist_ok=True)
    _forget_oldest(folder)
    path = folder / f"{os.getpid()}.log"
    log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(log, 1)
    os.dup2(log, 2)
    threading.Thread(target=_keep_small, args=(log,), daemon=True).start()


def shorten(log: int) -> None:
    """Remove the first half of a log that is too large; the next lines are appended to what is left."""
    size = os.fstat(log).st_size
    if size <= LARGEST:
        return
    last = os.pread(log, LARGEST // 2, size - LARGEST // 2)
    os.ftruncate(log, 0)
    os.write(log, b"(the beginning was removed, because the log was too large)\n" + last)


def _keep_small(log: int) -> None:
    while True:
        time.sleep(INTERVAL)
        with contextlib.suppress(OSError):
            shorten(log)


def _forget_oldest(folder: Path) -> None:
    """Delete all but the newest logs; those of other workers that are at work are among the newest."""
    with contextlib.suppress(OSError):
        ages = {path: path.stat().st_mtime for path in folder.glob("*.log")}
        for path in sorted(ages, key=ages.__getitem__)[: max(0, len(ages) - MOST + 1)]:
            path.unlink(missing_ok=True)
