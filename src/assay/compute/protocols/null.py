"""The null model: zero energy and zero forces for every structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.compute.protocols import carry_out, protocol
from assay.jobs import Job
from assay.outcome import Outcome, Point
from assay.structure import Structure


def null_outcome(job: Job) -> Outcome:
    """The outcome of a job with the null model; a useful score must be better than the score of this outcome."""
    ending = carry_out(protocol(job), _zeros)
    return Outcome(
        "null", ending.status, ending.values, ending.reason, provenance={"engine": "null"}, cause=ending.cause
    )


def _zeros(structures: Sequence[Structure]) -> list[Point]:
    return [Point(0.0, np.zeros((len(s), 3)), pbc=s.pattern) for s in structures]
