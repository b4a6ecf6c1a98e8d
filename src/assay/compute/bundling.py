"""Packs jobs into bundles: which jobs are sent to a worker in one piece, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.compute.cost import CostModel
from assay.compute.executors.base import Bundle, KeyedJob
from assay.jobs import Job, SinglePoints, structures_of

BUNDLE_JOBS = 24
"""The largest number of jobs in a bundle, for jobs that do not share batches."""

SIDE_BY_SIDE = 16
"""Relaxations and bands are sent in bundles of at least this number, where the model has batches: the next step of all
of them is one batch."""


def make_bundles(jobs: Mapping[str, Job], cost: CostModel, deadline: float | None = None) -> list[Bundle]:
    """Pack jobs into bundles, the longest first, so that no worker is left with a long job at the end.

    Jobs that share batches stay next to each other, large structures first, whichever benchmark they belong to.
    """
    ordered = sorted(jobs.items(), key=lambda item: (-_batch_atoms(item[1], cost), -cost.seconds(item[1])))
    enough = cost.bundle_seconds(job for _, job in ordered)
    bundles: list[Bundle] = []
    current: list[KeyedJob] = []
    seconds = 0.0
    for item in ordered:
        more = cost.seconds(item[1])
        full = len(current) >= BUNDLE_JOBS and not cost.shares_batches(item[1])
        if current and (full or seconds + more > enough) and not _needs_company(current, cost):
            bundles.append(make_bundle(current, cost, deadline))
            current, seconds = [], 0.0
        current.append(item)
        seconds += more
    return [*bundles, make_bundle(current, cost, deadline)] if current else bundles


def make_bundle(jobs: Sequence[KeyedJob], cost: CostModel, deadline: float | None = None) -> Bundle:
    """Put jobs into one bundle, with the deadline of the cost model unless another one is given (CPU seconds)."""
    return Bundle(tuple(jobs), deadline or cost.deadline(job for _, job in jobs), cost.timeout)


def _needs_company(jobs: Sequence[KeyedJob], cost: CostModel) -> bool:
    """True for a few jobs that move side by side: one more makes their batches larger and takes hardly longer."""
    moving = [job for _, job in jobs if cost.shares_batches(job) and not isinstance(job, SinglePoints)]
    return 0 < len(moving) < SIDE_BY_SIDE


def _batch_atoms(job: Job, cost: CostModel) -> int:
    """The number of atoms in the largest structure of a job that shares batches; 0 for other jobs."""
    return max((len(s) for s in structures_of(job)), default=0) if cost.shares_batches(job) else 0
