"""Do several calculators in several threads give what one gives alone?"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine, Unsupported, evaluate
from assay.compute.probes._deviation import worst_deviation
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from sys import TraceFunction  # type: ignore[attr-defined]

    from ase.calculators.calculator import Calculator

PROPERTIES = ("energy", "forces")


def _let_others_run(frame: FrameType, event: str, argument: Any) -> TraceFunction:
    """Called between any two lines of Python: hands the interpreter to another thread."""
    time.sleep(0)
    return _let_others_run


def _held(calculators: list[Calculator], structures: list[Structure]) -> list[Point]:
    """Forces as they stand in one calculator after another one has evaluated a moved copy of the structure."""
    points = []
    for structure in structures:
        point = evaluate(calculators[0], structure, PROPERTIES)
        held = getattr(calculators[0], "results", {}).get("forces", point.forces)
        before = np.array(held, dtype=float)
        evaluate(calculators[1], structure.moved(structure.positions * 1.01), PROPERTIES)
        points.append(Point(point.energy, point.forces + (np.array(held, dtype=float) - before)))
    return points


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV) and forces (eV/Å) of each structure from the serial values, over all threads."""
    count, rounds = int(probe.settings["threads"]), int(probe.settings["rounds"])
    calculators = [engine.model.build() for _ in range(count)]
    if len({id(calculator) for calculator in calculators}) < count:
        raise Unsupported("this calculator cannot be copied, so there is only one of it")
    indices, structures, serial = engine.answered(probe.structures)

    def work(thread: int) -> list[list[Point]]:
        shift = thread * len(structures) // count
        order = [(i + shift) % len(structures) for i in range(len(structures))]
        turns = []
        for turn in range(rounds):
            # Between any two lines of Python another thread may run; in every other round it does.
            sys.settrace(_let_others_run if turn % 2 == 0 else None)
            points = {i: evaluate(calculators[thread], structures[i], PROPERTIES) for i in order}
            turns.append([points[i] for i in range(len(structures))])
        sys.settrace(None)
        return turns

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # let threads interrupt one another as often as possible
    try:
        with ThreadPoolExecutor(count) as pool:
            turns = [turn for result in pool.map(work, range(count)) for turn in result]
    finally:
        sys.setswitchinterval(interval)
    turns.append(_held(calculators, structures))
    return {"indices": indices, "threads": count, "rounds": rounds, **worst_deviation(serial, turns)}
