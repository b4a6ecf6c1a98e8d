"""Single points: every structure is evaluated once, nothing moves."""

from __future__ import annotations

from assay.compute.protocols import Asking, Ending
from assay.jobs import SinglePoints
from assay.outcome import FAILED, OK, pack_points


def run_single_points(job: SinglePoints) -> Asking[Ending]:
    """Asks for all structures at once. One that was refused makes the job failed, the others keep their values."""
    points = (yield list(job.structures)) if job.structures else []
    values = pack_points(points, [len(s) for s in job.structures])
    bad = [p for p in points if not p.ok]
    if not bad:
        return Ending(OK, values)
    return Ending(FAILED, values, f"{len(bad)} of {len(points)} structures: {bad[0].reason}", bad[0].cause)
