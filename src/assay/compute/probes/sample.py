"""How long does the model need on average for some structures of a benchmark, each evaluated once?

The time of methods that iterate until they converge depends on the structure, not only on the number of its atoms. A
refusal counts, too: a method that does not converge takes longest.
"""

from __future__ import annotations

from contextlib import suppress

from assay.compute.clock import clock_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.jobs import Probe


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Seconds of each evaluation: CPU time, or wall time for a model on an accelerator."""
    clock = clock_of(engine.device)
    with suppress(ModelFailure):
        engine.evaluate(probe.structures[0])  # the first evaluation in a process may load something
    seconds = []
    for structure in probe.structures:
        started = clock()
        with suppress(ModelFailure):
            engine.evaluate(structure)
        seconds.append(clock() - started)
    return {"seconds": seconds}
