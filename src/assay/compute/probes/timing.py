"""How long does one structure take, alone and in a batch?

The positions differ slightly between calls, as in a simulation: a cache cannot return old results, and a method that
starts from its last result can do so. The first call may compile and is not counted.
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
"""No further call is timed after this time (s), or after `MOST` calls."""

MOST = 5
FEW, MANY, BATCH_ATOMS = 16, 64, 512
"""The timed batch has 16 to 64 structures, with about 512 atoms between these limits."""

LONGEST_BATCH = 0.5
"""The longest time (s) of the batch if its structures were evaluated one at a time."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Wall-clock seconds per evaluation, alone and in a batch; both are equal if the model does not support batches."""
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


def _seconds(evaluate: Callable[[Any], object], make: Callable[[int], object]) -> float:
    """The time of the fastest call after the first one, because other work on the machine only adds time."""
    times: list[float] = []
    for number in range(MOST + 1):
        argument = make(number)
        started = time.perf_counter()
        evaluate(argument)
        times.append(time.perf_counter() - started)
        if number and sum(times[1:]) > ENOUGH:
            break
    return max(min(times[1:]), 1e-7)


def _together(engine: CalculatorEngine, structure: Structure, count: int) -> float | None:
    """Seconds per structure in a batch of `count` structures; None if the batch fails, which other jobs report."""
    try:
        return (
            _seconds(engine.batch.evaluate, lambda n: [_moved(structure, n * count + i) for i in range(count)]) / count
        )
    except (Exception, SystemExit):
        return None


def _moved(structure: Structure, number: int) -> Structure:
    shift = np.random.default_rng(number).uniform(-0.01, 0.01, structure.positions.shape)
    return structure.moved(structure.positions + shift)
