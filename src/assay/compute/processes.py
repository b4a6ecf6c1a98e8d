"""Worker processes that start clean, whatever script started them, and end with the process that started them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from multiprocessing import context, spawn
from multiprocessing.process import BaseProcess
from typing import Any

_starting = threading.Lock()


class CleanProcess(context.SpawnProcess):
    """A spawned process that does not run the main script again.

    Python's spawned processes import the main script, so that functions defined there can be found. A script that calls
    `assay.check(...)` at its top level would then call it again in every worker. Nothing of the main script is needed:
    models travel by name or pickled by value.
    """

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802
        with _starting:
            usual = spawn.get_preparation_data

            def without_main(name: str) -> dict[str, Any]:
                return {k: v for k, v in usual(name).items() if not k.startswith("init_main")}

            spawn.get_preparation_data = without_main
            try:
                return context.SpawnProcess._Popen(process_obj)
            finally:
                spawn.get_preparation_data = usual


class CleanSpawn(context.SpawnContext):
    """The context that makes `CleanProcess`."""

    Process = CleanProcess


PR_SET_PDEATHSIG = 1
"""The request to Linux to send a signal to this process when its parent ends (prctl.h)."""


def end_with_parent(parent: int) -> None:
    """Let the system kill this process when the process that started it ends, whatever it is computing then.

    Nobody would use the results or stop it. Linux only; elsewhere a worker ends as soon as its Python code runs.

    Args:
        parent: the process id of the parent.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request
        os._exit(1)
