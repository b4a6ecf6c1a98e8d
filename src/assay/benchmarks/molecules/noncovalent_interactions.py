"""Interaction energy of two molecules as they are pulled apart.

Hydrogen bonds, dispersion and repulsion hold liquids, proteins and molecular crystals together, each with a few
kcal/mol that a model must find as a small difference of large energies.

Protocol: single points of the complex at all distances of the reference. A model whose energy or forces never change
fails.
- interaction_energy_error: error of the lowest energy of the curve minus that at the largest distance; for repulsive
  complexes the highest minus the same. Also reported for each class of interaction.
- interaction_energy_rmse: root mean square of that error over all complexes, and for each class (reported).
- curve_rmse: error of the whole curve, relative to the largest distance (reported).
- monomer_interaction_energy_error: error of E(complex) − E(first) − E(second) at the geometry that is lowest (highest)
  in the reference, with the charges of the two molecules (reported).
- Score of a complex: that of interaction_energy_error.
Reference: that of the data set, named with its level of theory in every result.
Cite: S22x5 (Gráfová et al. 2010), NCI Atlas (Řezáč 2020), and MLIPAudit for metric and threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.profiles import interaction_energy, root_mean_square_error
from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE, CHARGE_IGNORED, RecordBenchmark, in_kcal, predicted, spin_of
from assay.data.dataset import Record
from assay.jobs import Job, SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.structure import Structure
from assay.survey import Survey
from assay.units import KCAL

MONOMERS, ERROR = "monomers", "interaction_energy_error"
FOUND, EXPECTED = "predicted_interaction_energy", "reference_interaction_energy"


@dataclass(frozen=True)
class NoncovalentInteractions(RecordBenchmark):
    """Dissociation curves of complexes of two molecules."""

    kind = "noncovalent_interactions"
    optional = (CHARGE, MONOMERS)
    metrics = (
        Metric(ERROR, "kcal/mol", threshold=1.0, by_group=True),
        Metric("interaction_energy_rmse", "kcal/mol", rms_of=ERROR, by_group=True),
        Metric("curve_rmse", "kcal/mol"),
        Metric(f"monomer_{ERROR}", "kcal/mol"),
        CHARGE_IGNORED,
    )
    plots = (
        Plot("curve", "predicted", "distances", "dissociation", "distance (r/r₀)", "energy (kcal/mol)", "reference"),
        Plot("parity", FOUND, EXPECTED, "interaction energies", "reference (kcal/mol)", "model (kcal/mol)"),
    )

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """The curve, and the two molecules of its extreme point."""
        jobs, monomers = super().jobs_of(record, survey), _monomers(record)
        if monomers and not (survey.card.charge is False and any(m.charge for m in monomers)):
            jobs[MONOMERS] = SinglePoints(tuple(survey.placed(m) for m in monomers))
        return jobs

    def context_of(self, record: Record) -> dict[str, object]:
        """Interaction energies (kcal/mol), relative distances, the class, and which point is the extreme one."""
        return {
            **super().context_of(record),
            "distances": np.array(record.coordinates, dtype=float),
            "repulsive": bool(record.info.get("repulsive", False)),
            "group": str(record.info.get("group", "")),
            "extreme": _extreme(record),
        }

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Errors of the curve and of its extreme point."""
        energies, reference = predicted(outcomes), np.asarray(case.context["reference"])
        distances, repulsive = np.asarray(case.context["distances"]), bool(case.context["repulsive"])
        found, expected = (interaction_energy(curve, distances, repulsive) for curve in (energies, reference))
        far = int(np.argmax(distances))
        curves = energies - energies[far], reference - reference[far]
        errors = {ERROR: abs(found - expected), "curve_rmse": root_mean_square_error(*curves)}
        values = {**errors, FOUND: found, EXPECTED: expected, **_against_monomers(case, outcomes)}
        detail = {"distances": distances, "predicted": curves[0], "reference": curves[1], "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)


def _extreme(record: Record) -> int:
    """The point at which the curve of the reference is lowest, or highest if it is repulsive."""
    curve = in_kcal(record)
    return int(np.argmax(curve) if record.info.get("repulsive") else np.argmin(curve))


def _monomers(record: Record) -> tuple[Structure, ...]:
    """The two molecules at the extreme point; none if the data does not say which atoms and charges are whose."""
    whole, parts = record.structures[_extreme(record)], []
    for side in "ab":
        atoms, charge = record.info.get(f"atoms_{side}"), record.info.get(f"charge_{side}")
        if not isinstance(atoms, list | tuple) or (charge is None and whole.charge):
            return ()
        own = int(charge) if isinstance(charge, int | float) else None if whole.charge is None else 0
        part = replace(whole.reordered(list(atoms)), charge=own)
        parts.append(replace(part, spin=spin_of(part, own or 0)))
    return tuple(parts)


def _against_monomers(case: Case, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """E(complex) − E(first) − E(second) and its error (kcal/mol); nothing if a molecule was not evaluated."""
    outcome = outcomes.get(MONOMERS)
    alone = outcome.points() if outcome is not None and outcome.status == OK else []
    if len(alone) != 2 or not all(point.ok for point in alone):
        return {}
    place = int(case.context["extreme"])
    found = float(predicted(outcomes)[place] - KCAL * sum(point.energy for point in alone))
    error = abs(found - float(np.asarray(case.context["reference"])[place]))
    return {f"monomer_{ERROR}": error, "predicted_monomer_interaction_energy": found}
