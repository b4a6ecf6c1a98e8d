"""Many calls, each of which must be answered: a model may fail only now and then."""

from __future__ import annotations

from collections.abc import Sequence

from assay.benchmark import Case
from assay.benchmarks.bases.limits import Residual
from assay.jobs import Data, Probe
from assay.structure import Structure

CALLS = 200
"""A model that fails in one call of fifty passes so many calls with a probability of 2 %."""

ROLE = "many"


def many_calls(structures: Sequence[Structure]) -> Case:
    """The case: structures that the model has answered before are evaluated in turn."""
    calls = max(CALLS, len(structures))
    return Case("many-calls", {ROLE: Probe("steady", tuple(structures), {"calls": calls}, force_calls=calls)})


def unanswered(values: Data) -> Residual:
    """The calls without a usable answer, of which there must be none."""
    where = f"{values['missing']} of {values['calls']} calls for structures that were answered before"
    reason = f"{where}: {values['reason']}" if values["missing"] else where
    why = "what is answered once is answered always"
    return Residual(reason, float(values["missing"]), "calls", 0.0, 0.0, why)
