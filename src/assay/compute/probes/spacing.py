"""At which spacing of its atoms has a test structure forces that are neither too small nor too large for this model?

Models differ in length scale, and some refuse structures that are too dense. The structure is expanded or compressed
step by step until the largest force lies in the window. The result depends only on the model and the structure.
"""

from __future__ import annotations

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import Cause, ModelFailure
from assay.jobs import Probe
from assay.structure import Structure

SIZEABLE, ABSURD = 0.3, 50.0
"""The window for the largest force component, in eV/Å."""

STEP, TRIES = 1.12, 16
"""Factor between two spacings, and the largest number of spacings that are tried."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """For each structure: the scaling factor, the largest force (eV/Å) there, and the reason if no factor works."""
    rows = [_search(engine, structure) for structure in probe.structures]
    return {"rows": rows}


def _search(engine: CalculatorEngine, structure: Structure) -> dict[str, object]:
    tried: dict[int, float] = {}
    reason, cause, power = "", Cause.NONE, 0
    while power not in tried and len(tried) < TRIES:
        force, failure = _largest_force(engine, structure, STEP**power)
        if failure is not None:
            reason, cause = str(failure), failure.cause
        tried[power] = force
        if SIZEABLE <= force <= ABSURD:
            break
        power += -1 if force < SIZEABLE else 1
    best = max(tried, key=lambda p: _worth(tried[p]))
    usable = bool(np.isfinite(tried[best]))
    return {
        "factor": STEP**best,
        "max_force": tried[best] if usable else None,
        "reason": "" if usable else reason,
        "cause": Cause.NONE if usable else cause,
        "tries": len(tried),
    }


def _largest_force(engine: CalculatorEngine, structure: Structure, factor: float) -> tuple[float, ModelFailure | None]:
    """Largest force component (eV/Å) of the scaled structure; infinite, with the failure, if the model refuses it."""
    try:
        return float(np.abs(engine.evaluate(structure.transformed(factor * np.eye(3))).forces).max()), None
    except ModelFailure as failure:
        return float("inf"), failure


def _worth(force: float) -> float:
    """Ranking of a spacing: a refusal is worst, then forces outside the window by their distance, then the window."""
    if not np.isfinite(force):
        return -np.inf
    if force == 0.0:
        return -1e3
    return -abs(np.log(force / np.clip(force, SIZEABLE, ABSURD)))
