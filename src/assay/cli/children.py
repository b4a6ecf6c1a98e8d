"""Processes that a model left behind: they would keep the output of the command open, as in `assay … | tee log`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

SUBREAPER = 36
"""The option of Linux's `prctl` by which a process inherits the orphans among its descendants."""

PATIENCE = 2.0
"""Seconds that a process gets to end by itself."""


def adopt_orphans() -> None:
    """Let processes whose parent has ended, such as a worker, become children of this one, where the system can."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def end_children() -> None:
    """End every process that this one has started, and their children. The workers have ended before."""
    if not _has_children():
        return
    import psutil

    ours = _resource_tracker()
    left = [child for child in psutil.Process().children(recursive=True) if child.pid != ours]
    for child in left:
        with contextlib.suppress(psutil.Error):
            child.terminate()
    _, stubborn = psutil.wait_procs(left, timeout=PATIENCE)
    for child in stubborn:
        with contextlib.suppress(psutil.Error):
            child.kill()


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _resource_tracker() -> int | None:
    """The helper process of `multiprocessing`, which ends by itself."""
    module = sys.modules.get("multiprocessing.resource_tracker")
    return getattr(getattr(module, "_resource_tracker", None), "_pid", None)
