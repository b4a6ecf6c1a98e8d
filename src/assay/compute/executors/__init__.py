"""Where jobs run: in worker processes on this machine, or in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.compute.executors.base import DIED, HUNG, STOPPED, Bundle, Executor, Finished, KeyedJob

if TYPE_CHECKING:
    from assay.model import Model
    from assay.store import Store

__all__ = ["DIED", "HUNG", "STOPPED", "Bundle", "Executor", "Finished", "KeyedJob", "open_executor"]


@contextmanager
def open_executor(model: Model, store: Store, workers: int) -> Iterator[Executor]:
    """Choose the executor for a model: worker processes, or this process.

    This process is chosen for `workers=0`, and for a model that cannot be sent to another process.
    """
    # Imported here because both import the worker, which imports this package.
    from assay.compute.executors.in_process import InProcess
    from assay.compute.executors.local import LocalProcesses

    if workers == 0 or model.reference is None:
        yield InProcess(model, store)
        return
    with LocalProcesses(model.reference, store, workers) as executor:
        yield executor
