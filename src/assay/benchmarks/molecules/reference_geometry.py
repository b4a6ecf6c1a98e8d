"""A molecule stays at its reference geometry, and comes back to it when displaced.

Every calculation on a molecule rests on its geometry. A minimum alone says little: a model without forces leaves it.

Protocol: two minimisations to 0.01 eV/Å, one from the reference geometry and one from a displaced copy of it, about
0.2 Å away, of the data set or along soft motions. One that does not converge, or breaks or makes a bond, fails.
- rmsd_from_reference, rmsd_from_displaced: distance of the heavy atoms from the reference at the end, after
  superposition; of all atoms if fewer than three are heavy.
- bond_change, angle_change: mean changes from the reference in the first minimisation (reported).
- strain_ratio: energy that the displaced copy releases over that of the reference. Outside of a factor of 2.5 (as with
  wrong units) the molecule fails.
- stiffness: mean second derivative of the energy, if the data has no energies; outside of 1 to 120 eV/Å² it fails.
- literal_score: the score of rmsd_from_reference alone, as published (reported), whether or not the minimisation
  converged. It is 1 for a model without forces.
- Score of a molecule: the worse of the two rmsd, so that a model without forces does not pass by standing still.
Reference: geometries of the data set, named with their level of theory in every result.
Cite: OpenFF Industry Benchmark (D'Amore et al. 2022); MLIPAudit, whose first metric starts from the same frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.molecule import bonds, mean_changes
from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Case, failed
from assay.benchmarks.bases import minima
from assay.benchmarks.bases.points import refusals
from assay.benchmarks.bases.records import CHARGE_IGNORED, LITERAL, RecordBenchmark
from assay.benchmarks.builders.displaced import displaced_copy, mean_square_displacement, random_displacements
from assay.configurations import radius, symbol
from assay.data.dataset import Record
from assay.data.rules import DISPLACED, REFERENCE
from assay.jobs import Job, Relaxation, SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.score import soft_threshold
from assay.survey import Survey
from assay.units import KCAL

PUBLISHED = 0.075
"""The threshold of the publication (Å)."""

STIFFNESS, STRAIN_FACTOR = "stiffness", 2.5
STIFFNESS_RANGE = (1.0, 120.0)
"""eV/Å²; GFN2-xTB has 10 to 48 for organic molecules, LiH and NaCl about 2."""


@dataclass(frozen=True)
class ReferenceGeometry(RecordBenchmark):
    """Minimisations from reference geometries; `force_limit` is in eV/Å."""

    kind = "reference_geometry"
    metrics = (
        Metric("rmsd_from_reference", "Å", threshold=PUBLISHED),
        Metric("rmsd_from_displaced", "Å", threshold=PUBLISHED),
        Metric("bond_change", "Å"),
        Metric("angle_change", "°"),
        Metric("strain_ratio", "1", ideal=1.0, optional=True),
        Metric("stiffness", "eV/Å²", optional=True),
        LITERAL,
        CHARGE_IGNORED,
    )
    plots = (
        Plot("scatter", "rmsd_from_displaced", "rmsd_from_reference", "distance from the reference geometry (Å)"),
        Plot("curve", "energies_from_displaced", "steps_displaced", "minimisation", "step", "energy (kcal/mol)"),
    )
    worst_counts = True
    catches = (*RecordBenchmark.catches, "wrong_sign_forces")
    force_limit: float = 0.01
    steps: int = 1000

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """Both minimisations and, without a reference for the strain, a measurement of the stiffness."""
        start, given = record.structures[0], record.structures[1:]
        moved = given[0] if given else displaced_copy(start, record.id, minima.counted_atoms(record))
        jobs: dict[str, Job] = {
            role: Relaxation(survey.placed(s), force_limit=self.force_limit, steps=self.steps)
            for role, s in ((REFERENCE, start), (DISPLACED, moved))
        }
        if minima.strain_energy(record) is None:
            around = (start, *random_displacements(start, record.id))
            jobs[STIFFNESS] = SinglePoints(tuple(map(survey.placed, around)))
        return jobs

    def context_of(self, record: Record) -> dict[str, object]:
        """The reference geometry, its bonds, the atoms that count, and the energy of the displaced copy (eV)."""
        start, strain = record.structures[0], minima.strain_energy(record)
        radii = np.array([radius(int(z)) for z in start.numbers])
        atoms = {"positions": start.positions, "symbols": [symbol(int(z)) for z in start.numbers], "radii": radii}
        jolt = mean_square_displacement(start, record.id) if strain is None else None
        chosen = {"bonds": bonds(start.positions, radii), "counted": minima.counted_atoms(record)}
        return {**atoms, **chosen, "strain": strain, "jolt": jolt}

    def disqualified(self, case: Case, outcomes: Mapping[str, Outcome]) -> str:
        """Why the energy surface is not that of a molecule: far too stiff or too soft."""
        if STIFFNESS in outcomes:
            if refused := refusals(outcomes[STIFFNESS].points()):
                return refused
            value, (low, high) = minima.stiffness(outcomes[STIFFNESS], float(case.context["jolt"])), STIFFNESS_RANGE
            reason = f"the stiffness is {value:.3g} eV/Å²; molecules have {low:g} to {high:g} eV/Å²"
            return "" if low <= value <= high else reason
        if outcomes[DISPLACED].status == OK:
            ratio = minima.released_energy(outcomes[DISPLACED]) / float(case.context["strain"])
            if not 1.0 / STRAIN_FACTOR <= ratio <= STRAIN_FACTOR:
                return f"the displaced copy releases {ratio:.3g} times the energy that it should"
        return ""

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """The score of the first minimisation, wherever and whyever it ended."""
        end = outcomes[REFERENCE].values.get("positions")
        if outcomes[REFERENCE].status != OK or end is None:
            return 0.0
        start, counted = np.asarray(case.context["positions"]), np.asarray(case.context["counted"])
        return soft_threshold(superposed_rmsd(np.asarray(end)[counted], start[counted]), PUBLISHED)

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Where the minimisations ended."""
        start, counted = np.asarray(case.context["positions"]), np.asarray(case.context["counted"])
        for role in (REFERENCE, DISPLACED):
            if problem := minima.minimisation_problem(case, outcomes[role]):
                return failed(case, f"from the {role} geometry: {problem}")
        ends = {role: np.asarray(outcomes[role].values["positions"]) for role in (REFERENCE, DISPLACED)}
        values = {f"rmsd_from_{role}": superposed_rmsd(end[counted], start[counted]) for role, end in ends.items()}
        values |= mean_changes(ends[REFERENCE], start, np.asarray(case.context["bonds"]))
        values |= {f"steps_from_{role}": float(outcomes[role].values["steps"]) for role in ends}
        values["energy_released"] = KCAL * (released := minima.released_energy(outcomes[DISPLACED]))
        if (strain := case.context["strain"]) is not None:
            values |= {"reference_strain": KCAL * strain, "strain_ratio": released / strain}
        if STIFFNESS in outcomes:
            values[STIFFNESS] = minima.stiffness(outcomes[STIFFNESS], float(case.context["jolt"]))
        return Observation(case.id, OK, values, detail=minima.descents(outcomes, (REFERENCE, DISPLACED)))
