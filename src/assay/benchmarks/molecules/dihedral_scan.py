"""Energy of a molecule as it is turned about one bond.

Torsions decide which shapes a molecule takes; an error of 1 kcal/mol in a barrier changes a rate at room temperature
five times.

Protocol: single points at the reference geometries of each angle. Energies are relative to the angle that is lowest in
the reference. barrier_error is the difference of highest minus lowest energy, model against reference;
mean_absolute_error, root_mean_square_error and pearson_correlation compare the profiles point by point, the lowest one
included. A profile without any change has no correlation. A model whose energy or forces never change fails.
Reference: the data set's, named with its level in every result.
Cite: TorsionNet500 (Rai et al. 2022), and MLIPAudit for metric and threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.profiles import aligned, barrier, mean_absolute_error, pearson, root_mean_square_error
from assay.benchmark import Case, Metric, Observation
from assay.benchmarks.bases.records import CHARGE_IGNORED, MoleculeBenchmark, predicted
from assay.data.dataset import Record
from assay.outcome import OK, Outcome


@dataclass(frozen=True)
class DihedralScan(MoleculeBenchmark):
    """Torsion profiles of molecules."""

    kind = "dihedral_scan"
    metrics = (
        Metric("barrier_error", "kcal/mol", threshold=1.0),
        Metric("mean_absolute_error", "kcal/mol"),
        Metric("root_mean_square_error", "kcal/mol"),
        Metric("pearson_correlation", "1", ideal=1.0),
        CHARGE_IGNORED,
    )

    def context_of(self, record: Record) -> dict[str, object]:
        """Reference profile (kcal/mol) and angles (degrees)."""
        return {**super().context_of(record), "angles": np.array(record.coordinates, dtype=float)}

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The two profiles, compared."""
        energies, reference = aligned(predicted(outcomes), np.asarray(case.context["reference"]))
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
