"""Single points: every structure is evaluated once, without moving any atom."""

from __future__ import annotations

from assay.compute.protocols import Ending, Requests
from assay.jobs import SinglePoints
from assay.outcome import FAILED, OK, pack_points
from assay.reasons import counted


def run_single_points(job: SinglePoints) -> Requests[Ending]:
    """Evaluate all structures in one round. If the model refuses some, the job has failed, with the other values."""
    points = (yield list(job.structures)) if job.structures else []
    values = pack_points(points, [len(s) for s in job.structures])
    bad = [p for p in points if not p.ok]
    if not bad:
        return Ending(OK, values)
    reasons = counted(point.reason for point in bad)
    return Ending(FAILED, values, f"{len(bad)} of {len(points)} structures: {reasons}", bad[0].cause)
