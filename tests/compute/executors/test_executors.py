"""Jobs run in worker processes wherever the model can be sent to them."""

from __future__ import annotations

import threading
from pathlib import Path

from assay.compute.executors import open_executor
from assay.compute.executors.in_process import InProcess
from assay.compute.executors.local import LocalProcesses
from assay.models.loading import load_model
from assay.sabotage.sound import SoundPotential
from assay.store import Store
from faulty import MACHINE


def test_workers_are_processes_unless_the_model_cannot_leave_this_one(tmp_path: Path) -> None:
    model = load_model(f"{MACHINE}:slow")
    store = Store.create(tmp_path, "model")
    kinds = []
    for workers, chosen in ((2, model), (0, model), (2, load_model(_unpicklable()))):
        with open_executor(chosen, store, workers) as executor:
            kinds.append((type(executor), executor.workers))
    assert kinds == [(LocalProcesses, 2), (InProcess, 1), (InProcess, 1)]


def _unpicklable() -> object:
    calculator = SoundPotential()
    calculator.lock = threading.Lock()
    return calculator
