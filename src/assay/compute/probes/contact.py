"""First contact: can the calculator be built, what does it support, and does it evaluate a structure in time?"""

from __future__ import annotations

from assay.compute.clock import Clock, clock_of, cpu_seconds
from assay.compute.engines.blame import machine_failure
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import has_stress
from assay.errors import AssayError, ModelFailure, ModelNotBuilt
from assay.jobs import Probe
from assay.model import Model
from assay.stopping import stop_if_asked
from assay.structure import Structure
from assay.text import named

COPIES = 64
"""Structures in the batch that is timed."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Build the calculator and try structures until one succeeds; it is no error here if the model refuses all."""
    require_calculator(engine.model)
    started = cpu_seconds()  # of a second calculator, for which everything is imported
    engine.calculator  # noqa: B018
    to_build = cpu_seconds() - started
    reasons: list[str] = []
    seconds = batched = None
    for structure in probe.structures:
        try:
            engine.evaluate(structure)
            clock = clock_of(engine.device)
            started = clock()  # the first evaluation may compile, so the second one is timed
            engine.evaluate(structure)
            seconds = clock() - started
            batched = _seconds_in_batch(engine, structure, clock)
            break
        except ModelFailure as failure:
            reasons.append(str(failure))
    calculator = engine.calculator
    return {
        "calculator": type(calculator).__name__,
        "stress": has_stress(calculator),
        "claims": _listed(getattr(calculator, "claims", None)),
        "reasons": reasons,
        "seconds_to_build": to_build,
        "seconds_per_call": seconds,
        "seconds_per_batched_call": batched,
        "used": dict(engine.used),
    }


def require_calculator(model: Model) -> None:
    """Build the calculator once; `ModelNotBuilt` with a one-sentence message if the factory of the model fails."""
    try:
        calculator = model.build()
    except (Exception, SystemExit) as error:
        stop_if_asked()
        if (fault := machine_failure(error)) is not None:
            raise fault from error
        reason = f"model '{model.name}' cannot be built: {named(error)}"
        raise ModelNotBuilt(str(error) if isinstance(error, AssayError) else reason) from error
    if not hasattr(calculator, "get_potential_energy"):
        raise ModelNotBuilt(f"model '{model.name}' gives a {type(calculator).__name__}, not an ASE calculator")


def _seconds_in_batch(engine: CalculatorEngine, structure: Structure, clock: Clock) -> float | None:
    """Seconds per structure in a batch of copies; None if the model does not support batches or the batch fails."""
    if engine.model.build_batch is None:
        return None
    batch = [structure] * COPIES
    try:
        engine.batch.evaluate(batch)
        started = clock()
        engine.batch.evaluate(batch)
    except (Exception, SystemExit):  # the check 'batch_consistent' and every job with a batch report the reason
        return None
    return (clock() - started) / COPIES


def _listed(claims: object) -> object:
    return list(claims) if isinstance(claims, tuple | list | set) else claims
