"""Energy of a molecule as it is turned about one bond.

Torsions decide which shapes a molecule takes; an error of 1 kcal/mol in a barrier changes a rate at room temperature
five times.

Protocol: single points at the reference geometry of each angle; energies are relative to the angle that is lowest in
the reference. A model whose energy or forces never change fails.
- barrier_error: error of the barrier, which is the highest minus the lowest energy of the profile.
- mean_absolute_error, root_mean_square_error: errors of the profile, point by point (reported).
- pearson_correlation: agreement of the shape; a profile without any change has none (reported).
- Score of a molecule: that of barrier_error.
Reference: that of the data set, named with its level of theory in every result.
Cite: TorsionNet500 (Rai et al. 2022), and MLIPAudit for metric and threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.correlation import pearson
from assay.analysis.profiles import barrier, mean_absolute_error, relative_to_lowest, root_mean_square_error
from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE_IGNORED, RecordBenchmark, predicted
from assay.data.dataset import Record
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome


@dataclass(frozen=True)
class DihedralScan(RecordBenchmark):
    """Torsion profiles of molecules."""

    kind = "dihedral_scan"
    metrics = (
        Metric("barrier_error", "kcal/mol", threshold=1.0),
        Metric("mean_absolute_error", "kcal/mol"),
        Metric("root_mean_square_error", "kcal/mol"),
        Metric("pearson_correlation", "1", ideal=1.0),
        CHARGE_IGNORED,
    )
    plots = (
        Plot("curve", "predicted", "angles", "torsion profile", "angle (°)", "energy (kcal/mol)", "reference"),
        Plot(
            "parity", "predicted_barrier", "reference_barrier", "barriers", "reference (kcal/mol)", "model (kcal/mol)"
        ),
    )

    def context_of(self, record: Record) -> dict[str, object]:
        """Reference profile (kcal/mol) and angles (degrees)."""
        return {**super().context_of(record), "angles": np.array(record.coordinates, dtype=float)}

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Errors of the barrier and of the profile."""
        energies, reference = relative_to_lowest(predicted(outcomes), np.asarray(case.context["reference"]))
        values = {
            "barrier_error": abs(barrier(energies) - barrier(reference)),
            "mean_absolute_error": mean_absolute_error(energies, reference),
            "root_mean_square_error": root_mean_square_error(energies, reference),
            "predicted_barrier": barrier(energies),
            "reference_barrier": barrier(reference),
        }
        correlation = pearson(energies, reference)
        if correlation is not None:
            values["pearson_correlation"] = correlation
        detail = {"angles": case.context["angles"], "predicted": energies, "reference": reference, "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)
