"""Does every call get an answer? A model may fail only now and then, in one call of many."""

from __future__ import annotations

from itertools import cycle, islice

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import INVALID, ModelFailure
from assay.jobs import Probe


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Evaluate structures that the model has answered before, in turn; count the calls without a usable answer."""
    calls = max(int(probe.settings["calls"]), len(probe.structures))
    missing = invalid = 0
    reason = ""
    for structure in islice(cycle(probe.structures), calls):
        try:
            engine.evaluate(structure)
        except ModelFailure as failure:
            missing += 1
            invalid += failure.cause in INVALID
            reason = reason or str(failure)
    return {"calls": calls, "missing": missing, "invalid": invalid, "reason": reason}
