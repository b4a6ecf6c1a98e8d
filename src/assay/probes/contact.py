"""First contact: can the calculator be built, what does it offer, and does it answer at all before the deadline?"""

from __future__ import annotations

import time

from assay.engines.ase import AseEngine, has_stress
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.worker import build_check


def run(engine: AseEngine, probe: Probe) -> dict[str, object]:
    """Builds the calculator and tries structures until one is answered; that none is answered is no error here."""
    build_check(engine.model)
    reasons: list[str] = []
    seconds = None
    for structure in probe.structures:
        try:
            engine.evaluate(structure)
            started = time.monotonic()  # the first evaluation may compile, the second shows the pace
            engine.evaluate(structure)
            seconds = time.monotonic() - started
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
    }


def _listed(claims: object) -> object:
    return list(claims) if isinstance(claims, tuple | list | set) else claims
