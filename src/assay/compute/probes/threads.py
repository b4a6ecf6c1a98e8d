"""Do several calculators in several threads give the same results as one calculator alone?"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.evaluation import evaluate
from assay.compute.probes._deviation import worst_deviation
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from sys import TraceFunction  # type: ignore[attr-defined]

    from ase.calculators.calculator import Calculator

PROPERTIES = ("energy", "forces")


def _let_others_run(frame: FrameType, event: str, argument: Any) -> TraceFunction:
    """Called between any two lines of Python: lets another thread run."""
    time.sleep(0)
    return _let_others_run


def _after_other_calculator(calculators: list[Calculator], structures: list[Structure]) -> list[Point]:
    """Forces stored in one calculator, after another calculator has evaluated a displaced copy of the structure."""
    points = []
    for structure in structures:
        point = evaluate(calculators[0], structure, PROPERTIES)
        stored = getattr(calculators[0], "results", {}).get("forces", point.forces)
        before = np.array(stored, dtype=float)
        evaluate(calculators[1], structure.moved(structure.positions * 1.01), PROPERTIES)
        points.append(Point(point.energy, point.forces + (np.array(stored, dtype=float) - before)))
    return points


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV) and forces (eV/Å) of each structure from the serial values, over all threads."""
    count, rounds = int(probe.settings["threads"]), int(probe.settings["rounds"])
    calculators = [engine.model.build() for _ in range(count)]
    if len({id(calculator) for calculator in calculators}) < count:
        raise Unsupported("this calculator cannot be copied, so it cannot be used in several threads")
    indices, structures, serial = engine.evaluate_accepted(probe.structures)

    def work(thread: int) -> list[list[Point]]:
        shift = thread * len(structures) // count
        order = [(i + shift) % len(structures) for i in range(len(structures))]
        trials = []
        for number in range(rounds):
            # Another thread may run between any two lines of Python; in every second round this is enforced.
            sys.settrace(_let_others_run if number % 2 == 0 else None)
            points = {i: evaluate(calculators[thread], structures[i], PROPERTIES) for i in order}
            trials.append([points[i] for i in range(len(structures))])
        sys.settrace(None)
        return trials

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads interrupt each other as often as possible
    try:
        with ThreadPoolExecutor(count) as pool:
            trials = [trial for result in pool.map(work, range(count)) for trial in result]
    finally:
        sys.setswitchinterval(interval)
    trials.append(_after_other_calculator(calculators, structures))
    return {"indices": indices, "threads": count, "rounds": rounds, **worst_deviation(serial, trials)}
