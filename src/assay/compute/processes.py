"""Worker processes that start clean, whatever script started them."""

from __future__ import annotations

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
