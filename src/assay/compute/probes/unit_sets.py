"""Does the model give the same energies and forces in other units?"""

from __future__ import annotations

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.evaluation import evaluate
from assay.compute.probes._deviation import worst_deviation
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Deviation of energy (eV) and forces (eV/Å) of each structure in each set of units from the first set."""
    model = engine.model
    if model.build_in_units is None or not model.unit_sets:
        raise Unsupported("this model supports only one set of units")
    indices, structures, _ = engine.evaluate_accepted(probe.structures)
    points: dict[str, list[Point]] = {}
    declined = []
    for units in model.unit_sets:
        try:
            calculator = model.build_in_units(units)
        except ModelFailure:
            declined.append(units)
            continue
        points[units] = [evaluate(calculator, s, ("energy", "forces")) for s in structures]
    if len(points) < 2:
        raise Unsupported("this model does not support other units")
    usual, *others = points
    by_set = {units: worst_deviation(points[usual], [points[units]]) for units in others}
    return {"indices": indices, "declined": declined, "usual": usual, "by_set": by_set}
