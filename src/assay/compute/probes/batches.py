"""Are the results of a structure the same in a batch and alone, for any other structures in the batch?"""

from __future__ import annotations

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.pool import is_error_of_assay
from assay.compute.probes._deviation import worst_deviation
from assay.errors import Cause, ModelFailure
from assay.jobs import Probe
from assay.outcome import Point


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Deviation of energy (eV) and forces (eV/Å) of each structure: in one batch, in reverse order, and in pairs."""
    if engine.model.build_batch is None:
        raise Unsupported("this model does not support batches")
    evaluator = engine.model.build_batch()
    indices, structures, alone = engine.evaluate_accepted(probe.structures)
    try:
        together = list(evaluator.evaluate(structures))
        reverse = list(evaluator.evaluate(structures[::-1]))[::-1]
        pairs = [evaluator.evaluate([structures[i - 1], s])[1] for i, s in enumerate(structures)]
        trials = [[Point(e, np.asarray(f, dtype=float)) for e, f in batch] for batch in (together, reverse, pairs)]
    except Exception as error:
        if is_error_of_assay(error):
            raise
        raise ModelFailure(f"refused: a batch: {type(error).__name__}: {error}") from error
    if any(len(trial) != len(structures) for trial in trials):
        raise ModelFailure(
            f"returned {[len(t) for t in trials]} results for {len(structures)} structures in a batch", Cause.MALFORMED
        )
    if any(p.forces.shape != (len(s), 3) for trial in trials for p, s in zip(trial, structures, strict=True)):
        raise ModelFailure("returned forces in a batch for another number of atoms", Cause.MALFORMED)
    return {"indices": indices, **worst_deviation(alone, trials)}
