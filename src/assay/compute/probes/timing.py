"""How long does one structure take, alone and in a batch? CPU time counts, so that other programs change nothing.

The positions differ slightly between calls, as in a simulation: a cache cannot return old results, and a method that
starts from its last result can do so. The first call may compile, load or allocate, so it is measured apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.compute.clock import Clock, clock_of
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
    """Seconds per evaluation, alone and in a batch; both are equal if the model does not support batches.

    They are CPU seconds, or seconds on the clock for a model on an accelerator. `first` is how much longer the first
    evaluation of this size takes than the next ones.
    """
    clock = clock_of(engine.device)
    started = clock()
    (structure,) = probe.structures
    first, alone = _seconds(engine.evaluate, lambda number: _moved(structure, number), clock)
    count = min(max(FEW, min(MANY, BATCH_ATOMS // len(structure))), int(LONGEST_BATCH / alone))
    batch = _together(engine, structure, count, clock) if engine.model.build_batch is not None and count > 1 else None
    return {
        "natoms": len(structure),
        "seconds": alone,
        "first": first,
        "seconds_together": batch or alone,
        "together": count if batch else 1,
        "spent": clock() - started,
    }


def _seconds(evaluate: Callable[[Any], object], make: Callable[[int], object], clock: Clock) -> tuple[float, float]:
    """How much longer the first call takes than a usual one, and the time of that: the median of the others."""
    times: list[float] = []
    for number in range(MOST + 1):
        argument = make(number)
        started = clock()
        evaluate(argument)
        times.append(clock() - started)
        if number and sum(times[1:]) > ENOUGH:
            break
    usual = max(float(np.median(times[1:])), 1e-7)
    return max(times[0] - usual, 0.0), usual


def _together(engine: CalculatorEngine, structure: Structure, count: int, clock: Clock) -> float | None:
    """Seconds per structure in a batch of `count` structures; None if the batch fails, which other jobs report."""

    def batch(number: int) -> list[Structure]:
        return [_moved(structure, number * count + i) for i in range(count)]

    try:
        return _seconds(engine.batch.evaluate, batch, clock)[1] / count
    except (Exception, SystemExit):
        return None


def _moved(structure: Structure, number: int) -> Structure:
    shift = np.random.default_rng(number).uniform(-0.01, 0.01, structure.positions.shape)
    return structure.moved(structure.positions + shift)
