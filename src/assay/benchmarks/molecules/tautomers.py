"""Energy difference of two tautomers.

The place of a hydrogen decides how a molecule binds and reacts; the two forms have different bonds, so that errors of
a model do not cancel as they do between conformers.

Protocol: single points at the reference geometries of both forms. A model whose energy or forces never change fails.
- energy_error: error of E(second) − E(first). The threshold is 0.05 eV, which is 1.15 kcal/mol.
- literal_score: the score with the threshold 0.05 kcal/mol, which is what MLIPAudit's code computes although its text
  means 0.05 eV (reported).
- energy_rmse: root mean square of energy_error over all pairs (reported).
- Score of a pair: that of energy_error.
Reference: that of the data set, named with its level of theory in every result.
Cite: Tautobase (Wahl and Sander 2020), and MLIPAudit for the metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE_IGNORED, LITERAL, RecordBenchmark, predicted
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.score import soft_threshold
from assay.units import KCAL

PUBLISHED = 0.05
"""The threshold of the published code, in kcal/mol."""


@dataclass(frozen=True)
class Tautomers(RecordBenchmark):
    """Pairs of tautomers."""

    version = 2
    kind = "tautomers"
    metrics = (
        Metric("energy_error", "kcal/mol", threshold=0.05 * KCAL),
        Metric("energy_rmse", "kcal/mol", rms_of="energy_error"),
        LITERAL,
        CHARGE_IGNORED,
    )
    plots = (Plot("parity", "predicted", "reference", "tautomer energies", "reference (kcal/mol)", "model (kcal/mol)"),)

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """The score with the threshold of the published code."""
        return None if self.disqualified(case, outcomes) else soft_threshold(_difference(case, outcomes)[2], PUBLISHED)

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The error of the energy difference."""
        found, expected, error = _difference(case, outcomes)
        values = {
            "energy_error": error,
            "predicted_difference": found,
            "reference_difference": expected,
        }
        detail = {"predicted": found, "reference": expected, "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)


def _difference(case: Case, outcomes: Mapping[str, Outcome]) -> tuple[float, float, float]:
    """E(second) − E(first) of the model and of the reference, and the error of the former (kcal/mol)."""
    found, expected = (float(e[1] - e[0]) for e in (predicted(outcomes), np.asarray(case.context["reference"])))
    return found, expected, abs(found - expected)
