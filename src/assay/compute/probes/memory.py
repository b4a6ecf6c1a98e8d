"""Does memory grow with the number of evaluations?

Two quantities are measured: the memory of Python objects (exact) and the memory of the process (which includes leaks in
compiled code, but only as precisely as the allocator allows).
"""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np

from assay.compute.clock import cpu_seconds
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Floats, Structure

BLOCKS = 12
PYTHON_BLOCKS = 4
FEWEST = 15
"""The fewest evaluations in a block: in fewer, a cache that is being filled looks like a leak."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Growth of the memory in bytes per evaluation, after a warm-up.

    The number of evaluations follows from their CPU time, so that it does not depend on other programs.
    """
    budget = float(probe.settings["seconds"])
    most = int(probe.settings["evaluations"])
    started = cpu_seconds()
    _evaluate(engine, probe.structures, 20, 0)
    seconds = (cpu_seconds() - started) / 20
    block = max(FEWEST, min(most // BLOCKS, int(0.6 * budget / max(seconds, 1e-6) / BLOCKS)))
    _evaluate(engine, probe.structures, 2 * block, 1)
    resident = _resident_growth(engine, probe.structures, block)
    python = _python_growth(engine, probe.structures, max(2 * FEWEST, block))
    return {
        "evaluations": BLOCKS * block,
        "resident_bytes": resident,
        "python_bytes": python,
        "seconds": cpu_seconds() - started,
    }


def _evaluate(engine: CalculatorEngine, structures: tuple[Structure, ...], count: int, seed: int) -> None:
    """Evaluate structures in turn, each time with other positions."""
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
        raise ModelFailure(f"the model refused all {count} evaluations")


def _resident_growth(engine: CalculatorEngine, structures: tuple[Structure, ...], block: int) -> float:
    import psutil

    process, sizes = psutil.Process(), []
    for i in range(BLOCKS):
        _evaluate(engine, structures, block, 10 + i)
        gc.collect()
        sizes.append(process.memory_info().rss)
    return steady_growth(np.array(sizes, dtype=float)) / block


def steady_growth(sizes: Floats) -> float:
    """Mean growth per block after the warm-up, without the largest step, because one full cache is not a leak."""
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
    # The smallest growth of all blocks counts: a leak grows in every block, a cache does not.
    return max(0.0, float(min(np.diff(sizes)))) / block
