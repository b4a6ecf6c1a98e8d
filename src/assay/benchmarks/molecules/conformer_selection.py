"""Relative energies of the conformers of a molecule.

Which conformer is lowest, and by how much, decides what is bound, dissolved or crystallised.

Protocol: single points at the reference geometries. Energies are relative to the conformer that is lowest in the
reference. energy_mae and energy_rmse are the mean absolute and root mean square error over all conformers, the lowest
one included, where both are zero by definition; spearman_correlation compares the order; lowest_found is 1 if the
conformer that the model puts lowest is the lowest of the reference, or within 0.01 kcal/mol of it. The score of a
molecule is the mean over energy_mae and energy_rmse. A model whose energy or forces never change fails.
Reference: the data set's, named with its level in every result.
Cite: Folmsbee and Hutchison (2021), Wiggle150 (Brew et al. 2025), and MLIPAudit for metrics and thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.profiles import aligned, mean_absolute_error, rank_correlation, root_mean_square_error
from assay.benchmark import Case, Metric, Observation
from assay.benchmarks.bases.records import CHARGE_IGNORED, MoleculeBenchmark, predicted
from assay.outcome import OK, Outcome

AS_LOW = 0.01  # kcal/mol, by which two conformers are the same


@dataclass(frozen=True)
class ConformerSelection(MoleculeBenchmark):
    """Conformers of molecules."""

    kind = "conformer_selection"
    metrics = (
        Metric("energy_mae", "kcal/mol", threshold=0.5),
        Metric("energy_rmse", "kcal/mol", threshold=1.5),
        Metric("spearman_correlation", "1", ideal=1.0),
        Metric("lowest_found", "1", ideal=1.0),
        CHARGE_IGNORED,
    )

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The two sets of relative energies, compared."""
        energies, reference = aligned(predicted(outcomes), np.asarray(case.context["reference"]))
        order = rank_correlation(energies, reference)
        values = {
            "energy_mae": mean_absolute_error(energies, reference),
            "energy_rmse": root_mean_square_error(energies, reference),
        }
        if order is not None:
            chosen = float(reference[int(np.argmin(energies))])
            values |= {"spearman_correlation": order, "lowest_found": float(chosen <= AS_LOW)}
        detail = {"predicted": energies, "reference": reference, "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)
