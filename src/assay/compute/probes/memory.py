"""Does memory grow with the number of evaluations, of `Atoms` objects, or of calculators?

Two quantities are measured: the memory of Python objects (exact) and the memory of the process (which includes leaks in
compiled code, but only as precisely as the allocator allows).
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from assay.compute.clock import cpu_seconds
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import evaluate
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase import Atoms

BLOCKS = 12
PYTHON_BLOCKS = 4
FEWEST = 15
"""The fewest evaluations in a block: in fewer, a cache that is being filled looks like a leak."""

WARM_UP = 7
"""Blocks of `Atoms` objects before their memory is measured: a cache of 128 entries, the usual limit, is then full."""

OBJECTS = 20
MOST_CALCULATORS = 6
"""Objects, and the most calculators, in a block."""

CALCULATOR_BLOCKS = 6
CALCULATOR_SHARE = 0.5
"""The fraction of the seconds that may be spent on building calculators."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Growth of the memory in bytes per evaluation, per `Atoms` object and per calculator, after a warm-up.

    The number of evaluations follows from their CPU time, so that it does not depend on other programs.
    """
    budget = float(probe.settings["seconds"])
    most = int(probe.settings["evaluations"])
    started = cpu_seconds()
    _evaluate(engine, probe.structures, 20, 0)
    seconds = (cpu_seconds() - started) / 20
    block = max(FEWEST, min(most // BLOCKS, int(0.6 * budget / max(seconds, 1e-6) / BLOCKS)))
    _evaluate(engine, probe.structures, 2 * block, 1)
    resident = steady_growth(_resident_sizes(lambda seed: _evaluate(engine, probe.structures, block, seed))) / block
    python = _python_growth(lambda seed: _evaluate(engine, probe.structures, max(2 * FEWEST, block), seed))
    return {
        **_objects(engine, probe.structures[-1]),
        **_calculators(engine, probe.structures[-1], CALCULATOR_SHARE * budget),
        "evaluations": BLOCKS * block,
        "resident_bytes": resident,
        "python_bytes": python / max(2 * FEWEST, block),
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


def _resident_sizes(work: Callable[[int], None], blocks: int = BLOCKS) -> Floats:
    """Memory of the process in bytes after each block of work, which is given a seed."""
    import psutil

    process, sizes = psutil.Process(), []
    for i in range(blocks):
        work(10 + i)
        gc.collect()
        sizes.append(process.memory_info().rss)
    return np.array(sizes, dtype=float)


def steady_growth(sizes: Floats) -> float:
    """Mean growth per block after the warm-up, without the largest step, because one full cache is not a leak."""
    steps = np.diff(sizes[len(sizes) // 3 :])
    return max(0.0, float((steps.sum() - steps.max()) / (len(steps) - 1)))


def _python_growth(work: Callable[[int], None], warm_up: int = 1) -> float:
    """Bytes by which Python objects grow in each block of work, which is given a seed, after some blocks."""
    tracemalloc.start()
    try:
        for i in range(warm_up):
            work(101 - i)
        gc.collect()
        sizes = [tracemalloc.get_traced_memory()[0]]
        for i in range(PYTHON_BLOCKS):
            work(102 + i)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    # The smallest growth of all blocks counts: a leak grows in every block, a cache does not.
    return max(0.0, float(min(np.diff(sizes))))


def _objects(engine: CalculatorEngine, structure: Structure) -> dict[str, object]:
    """Growth in bytes per `Atoms` object that is evaluated.

    Dropped objects show what keeps them. Objects that exist all the time, and are not counted themselves, show what is
    kept for each: the names of dropped objects are given to new ones, and a cache by these names would not grow.
    """
    objects = [list(_new_objects(structure, seed)) for seed in range(WARM_UP + PYTHON_BLOCKS)]
    rest = iter(objects)
    by_object = _python_growth(lambda seed: _evaluate_objects(engine, next(rest)), WARM_UP)
    dropped = _python_growth(lambda seed: _evaluate_objects(engine, _new_objects(structure, seed)))
    return {
        "objects": len(objects) * OBJECTS,
        "object_bytes": by_object / OBJECTS,
        "dropped_object_bytes": dropped / OBJECTS,
    }


def _new_objects(structure: Structure, seed: int) -> Iterator[Atoms]:
    rng = np.random.default_rng(seed)
    for _ in range(OBJECTS):
        yield structure.moved(structure.positions + rng.uniform(-0.02, 0.02, structure.positions.shape)).to_atoms()


def _evaluate_objects(engine: CalculatorEngine, objects: Iterable[Atoms]) -> None:
    """Evaluate `Atoms` objects through ASE's methods."""
    for atoms in objects:
        with suppress(Exception):  # refusals are reported by other checks
            atoms.calc = engine.calculator
            atoms.get_potential_energy()
            atoms.get_forces()


def _calculators(engine: CalculatorEngine, structure: Structure, budget: float) -> dict[str, object]:
    """Growth in bytes per calculator that is built, used once and dropped, or why it was not measured."""
    if engine.model.build() is engine.calculator:
        return {"not_built": "the model has only one calculator"}
    started = cpu_seconds()
    _use_calculators(engine, structure, 1)
    seconds, blocks = cpu_seconds() - started, CALCULATOR_BLOCKS + PYTHON_BLOCKS + 1
    block = min(MOST_CALCULATORS, int(budget / max(seconds, 1e-6) / blocks))
    if block < 1:
        return {"not_built": f"{blocks} calculators of {seconds:.2g} s each do not fit into {budget:g} s"}
    sizes = _resident_sizes(lambda seed: _use_calculators(engine, structure, block), CALCULATOR_BLOCKS)
    return {
        "calculators": blocks * block,
        "calculator_bytes": _python_growth(lambda seed: _use_calculators(engine, structure, block)) / block,
        "calculator_resident_bytes": steady_growth(sizes) / block,
    }


def _use_calculators(engine: CalculatorEngine, structure: Structure, count: int) -> None:
    """Build calculators, and evaluate a structure with each before it is dropped."""
    for _ in range(count):
        with suppress(ModelFailure):
            evaluate(engine.model.build(), structure, ("energy", "forces"))
