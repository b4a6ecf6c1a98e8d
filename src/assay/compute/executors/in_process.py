"""Jobs in this process, for debugging and for models that cannot be sent to another process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.compute.clock import cpu_seconds
from assay.compute.executors.base import Bundle, Finished
from assay.compute.worker import Engines, run_jobs, store_of
from assay.model import Model
from assay.store import Store


class InProcess:
    """Runs jobs in this process. Any object can be the model, but a model that hangs or crashes ends the program."""

    workers = 1

    def __init__(self, model: Model, store: Store) -> None:
        self.engines, self.store = Engines(model, store.folder), store
        self.cpu_seconds = 0.0

    def run(self, bundles: Sequence[Bundle]) -> Iterator[Finished]:
        """Run one bundle after another; deadlines are not enforced."""
        for bundle in bundles:
            before = cpu_seconds()
            try:
                run_jobs(self.engines, store_of(bundle, self.store), bundle.jobs)
            finally:
                self.cpu_seconds += cpu_seconds() - before
            yield Finished(bundle)
