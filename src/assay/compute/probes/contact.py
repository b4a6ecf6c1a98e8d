"""First contact: can the calculator be built, what does it offer, and does it answer at all before the deadline?"""

from __future__ import annotations

import time

from assay.compute.engines.calculator import CalculatorEngine, has_stress
from assay.errors import AssayError, ModelFailure, ModelNotBuilt
from assay.jobs import Probe
from assay.model import Model
from assay.structure import Structure

COPIES = 64


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Builds the calculator and tries structures until one is answered; that none is answered is no error here."""
    require_calculator(engine.model)
    reasons: list[str] = []
    seconds = batched = None
    for structure in probe.structures:
        try:
            engine.evaluate(structure)
            started = time.monotonic()  # the first evaluation may compile, the second shows the pace
            engine.evaluate(structure)
            seconds = time.monotonic() - started
            batched = _batched_pace(engine, structure)
            break
        except ModelFailure as failure:
            reasons.append(str(failure))
    calculator = engine.calculator
    return {
        "calculator": type(calculator).__name__,
        "stress": has_stress(calculator),
        "claims": _listed(getattr(calculator, "claims", None)),
        "reasons": reasons,
        "seconds_per_call": seconds,
        "seconds_per_batched_call": batched,
        "used": dict(engine.used),
    }


def require_calculator(model: Model) -> None:
    """Build the calculator once; `ModelNotBuilt`, in one sentence, if the factory of the model does not work."""
    try:
        calculator = model.build()
    except AssayError as error:
        raise ModelNotBuilt(str(error)) from error
    except (Exception, SystemExit) as error:
        raise ModelNotBuilt(f"model '{model.name}' cannot be built: {type(error).__name__}: {error}") from error
    if not hasattr(calculator, "get_potential_energy"):
        raise ModelNotBuilt(f"model '{model.name}' gives a {type(calculator).__name__}, not an ASE calculator")


def _batched_pace(engine: CalculatorEngine, structure: Structure) -> float | None:
    """Seconds for one of many such structures in a batch; None for models without batches or whose batch fails."""
    if engine.model.build_batch is None:
        return None
    batch = [structure] * COPIES
    try:
        engine.batch.evaluate(batch)
        started = time.monotonic()
        engine.batch.evaluate(batch)
    except Exception:  # the check 'batch_consistent' and every job that wants a batch will say what is wrong
        return None
    return (time.monotonic() - started) / COPIES


def _listed(claims: object) -> object:
    return list(claims) if isinstance(claims, tuple | list | set) else claims
