"""Remarks about how results were computed, from the provenance of outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from assay.outcome import Outcome


def batch_remarks(outcomes: Iterable[Outcome]) -> list[str]:
    """A sentence for each reason for which batches were given up, with the number of structures it concerned.

    Results are the same with and without batches, but the run takes longer.
    """
    alone: dict[str, int] = {}
    for outcome in outcomes:
        batch = outcome.batch
        if batch.get("given_up"):
            reason, count = str(batch["given_up"]), batch.get("alone", 0)
            alone[reason] = alone.get(reason, 0) + (count if isinstance(count, int) else 0)
    return [
        f"batches were given up for some sizes, and {count} structures were computed one at a time: {reason}"
        for reason, count in alone.items()
    ]
