"""Interaction energy of two molecules as they are pulled apart.

Hydrogen bonds, dispersion and repulsion hold liquids, proteins and molecular crystals together, each with a few
kcal/mol that a model must find as a small difference of large energies.

Protocol: single points of the complex at all distances of the reference. The interaction energy is the lowest energy of
the curve minus that at the largest distance, for repulsive complexes the highest minus the same, in model and reference
alike; interaction_energy_error is the difference. curve_rmse compares the whole curves, both relative to the largest
distance. monomer_interaction_energy_error takes the two molecules by themselves, with their own charges, at the
geometry that is lowest (highest) in the reference: E(complex) − E(first) − E(second) against the reference itself, so
that the largest distance need not be far. Complexes with elements that the model does not claim are not asked. Metrics
are given for each class of interaction too. A model whose energy or forces never change fails.
Reference: the data set's, named with its level in every result.
Cite: S22x5 (Gráfová et al. 2010), NCI Atlas (Řezáč 2020), and MLIPAudit for metric and threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.profiles import interaction_energy, root_mean_square_error
from assay.benchmark import Case, Metric, MetricValue, Observation, mean_metric
from assay.benchmarks.bases.records import (
    CHARGE,
    CHARGE_IGNORED,
    MoleculeBenchmark,
    in_kcal,
    placed,
    predicted,
    spin_of,
)
from assay.data.dataset import Record
from assay.jobs import Job, SinglePoints
from assay.outcome import OK, Outcome
from assay.structure import Structure
from assay.survey import Survey
from assay.units import KCAL

MONOMERS = "monomers"


@dataclass(frozen=True)
class NoncovalentInteractions(MoleculeBenchmark):
    """Dissociation curves of complexes of two molecules."""

    kind = "noncovalent_interactions"
    optional = (CHARGE, MONOMERS)
    metrics = (
        Metric("interaction_energy_error", "kcal/mol", threshold=1.0),
        Metric("curve_rmse", "kcal/mol"),
        Metric("monomer_interaction_energy_error", "kcal/mol"),
        CHARGE_IGNORED,
    )

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """The curve, and the two molecules of its extreme point."""
        jobs = super().jobs_of(record, survey)
        monomers = _monomers(record)
        if monomers and not (survey.card.charge is False and any(m.charge for m in monomers)):
            jobs[MONOMERS] = SinglePoints(tuple(placed(m, survey) for m in monomers))
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

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The two curves, compared."""
        energies, reference = predicted(outcomes), np.asarray(case.context["reference"])
        distances, repulsive = np.asarray(case.context["distances"]), bool(case.context["repulsive"])
        found, expected = (interaction_energy(curve, distances, repulsive) for curve in (energies, reference))
        far = int(np.argmax(distances))
        curves = energies - energies[far], reference - reference[far]
        values = {
            "interaction_energy_error": abs(found - expected),
            "curve_rmse": root_mean_square_error(*curves),
            "predicted_interaction_energy": found,
            "reference_interaction_energy": expected,
            **_against_monomers(case, outcomes),
        }
        detail = {"distances": distances, "predicted": curves[0], "reference": curves[1], "unit": "kcal/mol"}
        return Observation(case.id, OK, values, detail=detail)

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The mean over all complexes, then of the error in each class of interaction."""
        metric = self.metrics[0]
        groups: dict[str, list[Observation]] = {}
        for seen in observations:
            groups.setdefault(str(seen.detail.get("group", "")), []).append(seen)
        groups.pop("", None)
        classes = [
            replace(mean_metric(metric, groups[name]), name=f"{metric.name} ({name})") for name in sorted(groups)
        ]
        return super().measure(observations) + classes


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
        parts.append(replace(whole.reordered(list(atoms)), charge=own, spin=None))
    return tuple(replace(part, spin=None if whole.spin is None else _parity(part)) for part in parts)


def _parity(part: Structure) -> int | None:
    return spin_of(replace(part, spin=1), part.charge or 0)


def _against_monomers(case: Case, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """E(complex) − E(first) − E(second) and its error (kcal/mol); nothing if a molecule was not asked or refused."""
    outcome = outcomes.get(MONOMERS)
    alone = outcome.points() if outcome is not None and outcome.status == OK else []
    if len(alone) != 2 or not all(point.ok for point in alone):
        return {}
    place = int(case.context["extreme"])
    found = float(predicted(outcomes)[place] - KCAL * sum(point.energy for point in alone))
    return {
        "monomer_interaction_energy_error": abs(found - float(np.asarray(case.context["reference"])[place])),
        "predicted_monomer_interaction_energy": found,
    }
