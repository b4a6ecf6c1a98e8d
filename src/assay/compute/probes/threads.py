"""Do several calculators in several threads give the same results as one calculator alone?"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.evaluation import evaluate_fully
from assay.compute.probes._deviation import worst_deviation
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from sys import TraceFunction  # type: ignore[attr-defined]

    from ase.calculators.calculator import Calculator


def _let_others_run(frame: FrameType, event: str, argument: Any) -> TraceFunction:
    """Called between any two lines of Python: lets another thread run."""
    time.sleep(0)
    return _let_others_run


def _after_other_calculator(calculators: list[Calculator], structures: list[Structure]) -> list[Point]:
    """Forces and stress stored in one calculator, after another one has evaluated a displaced copy of the structure."""
    points = []
    for structure in structures:
        point = evaluate_fully(calculators[0], structure)
        results = getattr(calculators[0], "results", {})
        stored = [results.get("forces", point.forces), results.get("stress", point.stress)]
        before = [np.array(value, dtype=float) for value in stored if value is not None]
        evaluate_fully(calculators[1], structure.moved(structure.positions * 1.01))
        after = [np.array(value, dtype=float) for value in stored if value is not None]
        shifts = [float(np.abs(b - a).max()) for a, b in zip(before, after, strict=True)]
        stress = None if point.stress is None else point.stress + shifts[-1]
        points.append(Point(point.energy, point.forces + shifts[0], stress))
    return points


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV), forces (eV/Å) and stress (eV/Å³) of each structure from the serial values."""
    count, rounds = int(probe.settings["threads"]), int(probe.settings["rounds"])
    calculators = [engine.model.build() for _ in range(count)]
    if len({id(calculator) for calculator in calculators}) < count:
        raise Unsupported("this calculator cannot be copied, so it cannot be used in several threads")
    indices, structures, serial = engine.evaluate_accepted(probe.structures, stress=True)

    def work(thread: int) -> list[list[Point]]:
        shift = thread * len(structures) // count
        order = [(i + shift) % len(structures) for i in range(len(structures))]
        trials = []
        for number in range(rounds):
            # Another thread may run between any two lines of Python; in every second round this is enforced.
            sys.settrace(_let_others_run if number % 2 == 0 else None)
            points = {i: evaluate_fully(calculators[thread], structures[i]) for i in order}
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
