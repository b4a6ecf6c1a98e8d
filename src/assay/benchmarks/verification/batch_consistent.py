"""A structure gets the same answer in a batch as alone.

Batched evaluation pads, sorts and shares; a mistake there mixes structures, and shows only when a batch is used.

Protocol:
- All structures are evaluated in one batch, forwards and backwards, and in pairs; compared with one at a time.
- Models without a batched evaluator are not supported.
Reference: the model, one structure at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.benchmarks.bases.probe_check import ProbeCheck


@dataclass(frozen=True)
class BatchConsistent(ProbeCheck):
    """Batched evaluation equals single evaluation."""

    optional_feature = True
    catches = ("batch_mixes_structures",)
    probe = "batches"
    twins = True
    phrase = "in a batch"
