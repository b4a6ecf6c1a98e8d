"""Relative energies of the conformers of a molecule.

Which conformer is lowest, and by how much, decides what is bound, dissolved or crystallised.

Protocol: single points at the reference geometries; energies are relative to the conformer that is lowest in the
reference, which is itself included. A model whose energy or forces never change fails.
- energy_mae: mean absolute error over all conformers.
- energy_rmse: root mean square error over all conformers.
- spearman_correlation: agreement of the order of the conformers (reported).
- lowest_found: 1 if the conformer that the model puts lowest is the lowest of the reference, or within 0.01 kcal/mol of
  it (reported).
- Score of a molecule: the mean over energy_mae and energy_rmse.
Reference: that of the data set, named with its level of theory in every result.
Cite: Folmsbee and Hutchison (2021), Wiggle150 (Brew et al. 2025), and MLIPAudit for metrics and thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.correlation import spearman
from assay.analysis.profiles import mean_absolute_error, relative_to_lowest, root_mean_square_error
from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE_IGNORED, RecordBenchmark, predicted
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome

AS_LOW = 0.01
"""Two conformers closer than this (kcal/mol) count as equally low."""


@dataclass(frozen=True)
class ConformerSelection(RecordBenchmark):
    """Conformers of molecules."""

    version = 2
    kind = "conformer_selection"
    metrics = (
        Metric("energy_mae", "kcal/mol", threshold=0.5),
        Metric("energy_rmse", "kcal/mol", threshold=1.5),
        Metric("spearman_correlation", "1", ideal=1.0),
        Metric("lowest_found", "1", ideal=1.0),
        CHARGE_IGNORED,
    )
    plots = (
        Plot("parity", "predicted", "reference", "conformer energies", "reference (kcal/mol)", "model (kcal/mol)"),
    )

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Errors of the relative energies, and of their order."""
        energies, reference = relative_to_lowest(predicted(outcomes), np.asarray(case.context["reference"]))
        order = spearman(energies, reference)
        values = {
            "energy_mae": mean_absolute_error(energies, reference),
            "energy_rmse": root_mean_square_error(energies, reference),
        }
        if order is not None:
            chosen = float(reference[int(np.argmin(energies))])
            values |= {"spearman_correlation": order, "lowest_found": float(chosen <= AS_LOW)}
        detail = {"predicted": energies, "reference": reference, "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)
