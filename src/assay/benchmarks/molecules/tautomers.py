"""Energy difference of two tautomers.

Where a hydrogen sits decides how a molecule binds and reacts; the two forms have different bonds, so that errors of a
model do not cancel as they do between conformers.

Protocol: single points at the reference geometries of both forms. energy_error is the error of E(second) − E(first).
The threshold is 0.05 eV, which is 1.15 kcal/mol. MLIPAudit's text means this, its code compares kcal/mol with 0.05;
literal_score is the score by that rule. A model whose energy or forces never change fails.
Reference: the data set's, named with its level in every result.
Cite: Tautobase (Wahl and Sander 2020), and MLIPAudit for the metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case, Metric, Observation
from assay.benchmarks.bases.records import CHARGE_IGNORED, MoleculeBenchmark, predicted
from assay.outcome import OK, Outcome
from assay.score import soft_threshold
from assay.units import KCAL

LITERAL = 0.05  # kcal/mol


@dataclass(frozen=True)
class Tautomers(MoleculeBenchmark):
    """Pairs of tautomers."""

    kind = "tautomers"
    metrics = (
        Metric("energy_error", "kcal/mol", threshold=0.05 * KCAL),
        Metric("literal_score", "1", ideal=1.0),
        CHARGE_IGNORED,
    )

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The two differences, compared."""
        found, expected = (float(e[1] - e[0]) for e in (predicted(outcomes), np.asarray(case.context["reference"])))
        error = abs(found - expected)
        values = {
            "energy_error": error,
            "literal_score": soft_threshold(error, LITERAL),
            "predicted_difference": found,
            "reference_difference": expected,
        }
        return Observation(case.id, OK, values, detail={"unit": "kcal/mol"})
