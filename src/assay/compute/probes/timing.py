"""How long does one structure take, alone and as one of many in a batch?

Each call sees positions that differ a little, as those of a simulation do: nothing is answered from memory, and a
method that starts from its last answer may. The first call may compile and does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.jobs import Probe
from assay.structure import Structure

ENOUGH = 0.2
"""After so many seconds, or `MOST` calls, no further call is timed."""

MOST = 5
FEW, MANY, BATCH_ATOMS = 16, 64, 512
"""Structures in the batch that is timed: those of simulations that go side by side, of small ones more."""

LONGEST_BATCH = 0.5
"""Seconds that the batch would take one structure after another, at most."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Seconds on the clock for one evaluation; those in a batch are the same where the model has no batches."""
    started = time.perf_counter()
    (structure,) = probe.structures
    alone = _seconds(engine.evaluate, lambda number: _moved(structure, number))
    count = min(max(FEW, min(MANY, BATCH_ATOMS // len(structure))), int(LONGEST_BATCH / alone))
    together = _together(engine, structure, count) if engine.model.build_batch is not None and count > 1 else None
    return {
        "natoms": len(structure),
        "seconds": alone,
        "seconds_together": together or alone,
        "together": count if together else 1,
        "spent": time.perf_counter() - started,
    }


def _seconds(ask: Callable[[Any], object], make: Callable[[int], object]) -> float:
    """The time of the quickest of some calls after the first: other work on the machine can only add to it."""
    times: list[float] = []
    for number in range(MOST + 1):
        asked = make(number)
        started = time.perf_counter()
        ask(asked)
        times.append(time.perf_counter() - started)
        if number and sum(times[1:]) > ENOUGH:
            break
    return max(min(times[1:]), 1e-7)


def _together(engine: CalculatorEngine, structure: Structure, count: int) -> float | None:
    """Seconds for one of `count` structures in a batch; None where the batch fails, which other jobs will tell."""
    try:
        return (
            _seconds(engine.batch.evaluate, lambda n: [_moved(structure, n * count + i) for i in range(count)]) / count
        )
    except Exception:
        return None


def _moved(structure: Structure, number: int) -> Structure:
    shift = np.random.default_rng(number).uniform(-0.01, 0.01, structure.positions.shape)
    return structure.moved(structure.positions + shift)
