"""Are the results of a structure the same in a batch and alone, for any other structures in the batch?"""

from __future__ import annotations

from assay.compute.engines.blame import failure_of
from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.engines.numbers import checked_energy, checked_forces
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
        answers = [[(energy, forces) for energy, forces in batch] for batch in (together, reverse, pairs)]
    except (Exception, SystemExit) as error:
        if is_error_of_assay(error):
            raise
        raise failure_of(error, "refused: a batch") from error
    if any(len(trial) != len(structures) for trial in answers):
        counts = [len(trial) for trial in answers]
        raise ModelFailure(f"returned {counts} results for {len(structures)} structures in a batch", Cause.MALFORMED)
    trials = [
        [Point(checked_energy(e), checked_forces(f, len(s))) for (e, f), s in zip(trial, structures, strict=True)]
        for trial in answers
    ]
    return {"indices": indices, **worst_deviation(alone, trials)}
