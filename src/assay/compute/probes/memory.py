"""Does memory grow with the number of evaluations?

Two measures are taken: what Python itself holds (exact, to the byte) and what the process holds (which also sees leaks
in compiled code, with the granularity of the allocator).
"""

from __future__ import annotations

import gc
import time
import tracemalloc

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Floats, Structure

BLOCKS = 12
PYTHON_BLOCKS = 4
FEWEST = 15
"""Evaluations in a block at least: in fewer, the last caches to fill look like a leak."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Bytes kept for each evaluation, once the model has warmed up."""
    budget = float(probe.settings["seconds"])
    wanted = int(probe.settings["evaluations"])
    started = time.monotonic()
    _evaluate(engine, probe.structures, 20, 0)
    pace = (time.monotonic() - started) / 20
    block = max(FEWEST, min(wanted // BLOCKS, int(0.6 * budget / max(pace, 1e-6) / BLOCKS)))
    _evaluate(engine, probe.structures, 2 * block, 1)
    resident = _resident_growth(engine, probe.structures, block)
    python = _python_growth(engine, probe.structures, max(2 * FEWEST, block))
    return {
        "evaluations": BLOCKS * block,
        "resident_bytes": resident,
        "python_bytes": python,
        "seconds": time.monotonic() - started,
    }


def _evaluate(engine: CalculatorEngine, structures: tuple[Structure, ...], count: int, seed: int) -> None:
    """Evaluations of structures that keep changing in shape and size."""
    rng = np.random.default_rng(seed)
    refused = 0
    for i in range(count):
        structure = structures[i % len(structures)]
        moved = structure.moved(structure.positions + rng.uniform(-0.02, 0.02, structure.positions.shape))
        try:
            engine.evaluate(moved)
        except ModelFailure:
            refused += 1
    if refused == count:
        raise ModelFailure(f"none of {count} evaluations was answered")


def _resident_growth(engine: CalculatorEngine, structures: tuple[Structure, ...], block: int) -> float:
    import psutil

    process, sizes = psutil.Process(), []
    for i in range(BLOCKS):
        _evaluate(engine, structures, block, 10 + i)
        gc.collect()
        sizes.append(process.memory_info().rss)
    return steady_growth(np.array(sizes, dtype=float)) / block


def steady_growth(sizes: Floats) -> float:
    """Mean growth per block once warmed up, without the largest step: one cache that fills is no leak."""
    steps = np.diff(sizes[len(sizes) // 3 :])
    return max(0.0, float((steps.sum() - steps.max()) / (len(steps) - 1)))


def _python_growth(engine: CalculatorEngine, structures: tuple[Structure, ...], block: int) -> float:
    tracemalloc.start()
    try:
        _evaluate(engine, structures, block, 101)
        gc.collect()
        sizes = [tracemalloc.get_traced_memory()[0]]
        for i in range(PYTHON_BLOCKS):
            _evaluate(engine, structures, block, 102 + i)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The least of all blocks: a leak grows in each, a cache that fills does not.
    return max(0.0, float(min(np.diff(sizes)))) / block
