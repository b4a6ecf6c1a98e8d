"""Activation and reaction energies at known transition states.

Rates follow from the height of the saddle point and equilibria from the depth of the product. Potentials that were
fitted near minima fail first where bonds are half broken.

Protocol: single points at reactant, transition state and product of the reference. A model whose energy or forces never
change fails.
- activation_energy_error: error of E(transition state) − E(reactant).
- reaction_energy_error: error of E(product) − E(reactant).
- backward_activation_energy_error: error of E(transition state) − E(product) (reported).
- activation_energy_rmse, reaction_energy_rmse: root mean squares of both errors over all reactions (reported).
- Score of a reaction: the mean over the first two.
Reference: that of the data set, named with its level of theory in every result.
Cite: Grambow, Pattanaik and Green (2020), and MLIPAudit for metrics and thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.reactions import ordered, reference_energies
from assay.benchmarks.bases.records import CHARGE_IGNORED, POINTS, RecordBenchmark, predicted
from assay.data.dataset import Record
from assay.jobs import Job, SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.survey import Survey

AXES = ("reference (kcal/mol)", "model (kcal/mol)")


@dataclass(frozen=True)
class ReactivityTst(RecordBenchmark):
    """Energies along known reactions."""

    version = 2
    kind, use = "reactions", "tst"
    metrics = (
        Metric("activation_energy_error", "kcal/mol", threshold=3.0),
        Metric("reaction_energy_error", "kcal/mol", threshold=2.0),
        Metric("backward_activation_energy_error", "kcal/mol"),
        Metric("activation_energy_rmse", "kcal/mol", rms_of="activation_energy_error"),
        Metric("reaction_energy_rmse", "kcal/mol", rms_of="reaction_energy_error"),
        CHARGE_IGNORED,
    )
    plots = (
        Plot("parity", "predicted_activation_energy", "reference_activation_energy", "activation energies", *AXES),
        Plot("parity", "predicted_reaction_energy", "reference_reaction_energy", "reaction energies", *AXES),
    )

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """Three single points."""
        return {POINTS: SinglePoints(tuple(survey.placed(s) for s in ordered(record)))}

    def context_of(self, record: Record) -> dict[str, object]:
        """Energies relative to the reactant (kcal/mol)."""
        return {"reference": reference_energies(record)}

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Errors of the height of the saddle point from both sides, and of the reaction energy."""
        energies, reference = predicted(outcomes), np.asarray(case.context["reference"])
        values: dict[str, float] = {}
        for name, high, low in (("activation", 1, 0), ("reaction", 2, 0), ("backward_activation", 1, 2)):
            found, expected = (float(e[high] - e[low]) for e in (energies, reference))
            values |= {
                f"{name}_energy_error": abs(found - expected),
                f"predicted_{name}_energy": found,
                f"reference_{name}_energy": expected,
            }
        detail = {"predicted": energies - energies[0], "reference": reference, "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)
