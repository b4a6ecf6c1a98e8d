"""A molecule stays at its reference geometry, and comes back to it when displaced.

Bond lengths and angles are the first thing that every calculation on a molecule rests on. A minimum alone says little:
a model without forces leaves every geometry as it is.

Protocol: two minimisations to 0.01 eV/Å, one from the reference geometry and one from a displaced copy of it, about 0.2
Å away: that of the data set, or one that is made along soft motions of the molecule. rmsd_from_reference and
rmsd_from_displaced are how far the heavy atoms end from the reference after superposition, of all atoms if fewer than
three are heavy. The score of a molecule is the worse of the two, so that a model without forces does not pass by
standing still. bond_change and angle_change are mean changes from the reference in the first. A minimisation that does
not converge, or breaks or makes a bond, fails. So does a model with another stiffness than nature, such as one in wrong
units: the energy that the displaced copy releases must be within a factor of 2.5 of the reference, or, where the data
has no energies, the mean second derivative of the energy must lie between 1 and 120 eV/Å².
Reference: the data set's geometries, named with their level in every result.
Cite: OpenFF Industry Benchmark (D'Amore et al. 2022), and MLIPAudit for the first metric, which there is taken from the
frame that the minimisation starts from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.molecule import angles, bond_angles, bond_lengths, bonds, broken_and_made
from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Case, Metric, Observation
from assay.benchmarks.bases.records import CHARGE_IGNORED, MoleculeBenchmark, failed, placed, refusals
from assay.benchmarks.builders.displaced import displaced_copy, jolts
from assay.configurations import radius, symbol
from assay.data.dataset import Record
from assay.data.rules import DISPLACED, REFERENCE
from assay.jobs import Job, Relaxation, SinglePoints
from assay.outcome import FAILED, OK, Outcome
from assay.structure import Floats
from assay.survey import Survey
from assay.units import KCAL

STIFFNESS = "stiffness"
STRAIN_FACTOR = 2.5
STIFFNESS_RANGE = (1.0, 120.0)  # eV/Å²; GFN2-xTB has 10 to 48 for organic molecules, LiH and NaCl about 2
JOLTS, JOLT = 6, 0.02  # how many, and how far (Å) along each coordinate


@dataclass(frozen=True)
class ReferenceGeometry(MoleculeBenchmark):
    """Minimisations from reference geometries; `force_limit` is in eV/Å."""

    kind = "reference_geometry"
    metrics = (
        Metric("rmsd_from_reference", "Å", threshold=0.075),
        Metric("rmsd_from_displaced", "Å", threshold=0.075),
        Metric("bond_change", "Å"),
        Metric("angle_change", "°"),
        Metric("strain_ratio", "1", ideal=1.0),
        Metric("stiffness", "eV/Å²"),
        CHARGE_IGNORED,
    )
    rare = (CHARGE_IGNORED.name, "strain_ratio", "stiffness")
    worst_counts = True
    catches = (*MoleculeBenchmark.catches, "wrong_sign_forces")
    force_limit: float = 0.01
    steps: int = 1000

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """Both minimisations and, without a reference for the strain, a measurement of the stiffness."""
        start = record.structures[0]
        if len(record.structures) > 1:
            moved = record.structures[1]
        else:
            moved = displaced_copy(start, record.id, _counted(record))
        jobs: dict[str, Job] = {
            role: Relaxation(placed(s, survey), force_limit=self.force_limit, steps=self.steps)
            for role, s in ((REFERENCE, start), (DISPLACED, moved))
        }
        if _strain(record) is None:
            around = (start, *jolts(start, record.id, JOLTS, JOLT))
            jobs[STIFFNESS] = SinglePoints(tuple(placed(s, survey) for s in around))
        return jobs

    def context_of(self, record: Record) -> dict[str, object]:
        """The reference geometry, its bonds, the atoms that count, and the energy of the displaced copy (eV)."""
        start = record.structures[0]
        radii = np.array([radius(int(z)) for z in start.numbers])
        strain = _strain(record)
        return {
            "positions": start.positions,
            "symbols": [symbol(int(z)) for z in start.numbers],
            "radii": radii,
            "bonds": bonds(start.positions, radii),
            "counted": _counted(record),
            "strain": strain,
            "jolt": _jolt(record) if strain is None else None,
        }

    def witness(self, case: Case, outcomes: Mapping[str, Outcome]) -> str:
        """Whether the energy surface is as stiff as that of a molecule."""
        if STIFFNESS in outcomes:
            refused = refusals(outcomes[STIFFNESS].points())
            if refused:
                return refused
            stiffness, (low, high) = _stiffness(case, outcomes), STIFFNESS_RANGE
            if not low <= stiffness <= high:
                return f"the stiffness is {stiffness:.3g} eV/Å², that of molecules is {low:g} to {high:g} eV/Å²"
        elif outcomes[DISPLACED].status == OK:
            ratio = _released(outcomes) / float(case.context["strain"])
            if not 1.0 / STRAIN_FACTOR <= ratio <= STRAIN_FACTOR:
                return f"the displaced copy releases {ratio:.3g} times the energy that it should"
        return ""

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Where the minimisations ended."""
        for role in (REFERENCE, DISPLACED):
            trouble = _trouble(case, outcomes[role])
            if trouble:
                return failed(case, f"from the {role} geometry: {trouble}")
        ends = {role: np.asarray(outcomes[role].values["positions"]) for role in (REFERENCE, DISPLACED)}
        values = {f"rmsd_from_{role}": _rmsd(case, end) for role, end in ends.items()}
        values |= _changes(case, ends[REFERENCE])
        values |= {f"steps_from_{role}": float(outcomes[role].values["steps"]) for role in ends}
        values["energy_released"] = KCAL * _released(outcomes)
        strain = case.context["strain"]
        if strain is not None:
            values |= {"reference_strain": KCAL * float(strain), "strain_ratio": _released(outcomes) / float(strain)}
        if STIFFNESS in outcomes:
            values["stiffness"] = _stiffness(case, outcomes)
        detail = {f"energies_from_{role}": KCAL * _descent(outcomes[role]) for role in ends}
        return Observation(case.id, OK, values, detail={**detail, "unit": "kcal/mol"})


def _counted(record: Record) -> np.ndarray:
    """Heavy atoms; all if fewer than three are heavy, because two always fit."""
    numbers = record.structures[0].numbers
    heavy = np.flatnonzero(numbers > 1).astype(np.int64)
    return heavy if len(heavy) >= 3 else np.arange(len(numbers), dtype=np.int64)


def _strain(record: Record) -> float | None:
    """Energy (eV) of the displaced copy above the reference; None where the data does not say."""
    if record.energies is None or len(record.energies) < 2 or record.energies[1] - record.energies[0] <= 0.0:
        return None
    return float(record.energies[1] - record.energies[0])


def _jolt(record: Record) -> float:
    """The mean square length (Å²) of the steps that the stiffness is measured with."""
    start = record.structures[0]
    jolted = jolts(start, record.id, JOLTS, JOLT)
    return float(np.mean([((j.positions - start.positions) ** 2).sum() for j in jolted]))


def _trouble(case: Case, outcome: Outcome) -> str:
    """Why a minimisation cannot be judged by where it ended; empty if it can."""
    if outcome.status == FAILED:
        return outcome.reason
    if not outcome.values["converged"]:
        return (
            f"not converged after {outcome.values['steps']} steps, largest force {outcome.values['max_force']:.2g} eV/Å"
        )
    pairs, radii = np.asarray(case.context["bonds"]), np.asarray(case.context["radii"])
    symbols = case.context["symbols"]
    found = broken_and_made(np.asarray(outcome.values["positions"]), pairs, radii)
    for word, rows in zip(("broken", "made"), found, strict=True):
        if len(rows):
            i, j = (int(k) for k in rows[0])
            return f"{len(rows)} bonds {word}, the first {symbols[i]}{i}-{symbols[j]}{j}"
    return ""


def _rmsd(case: Case, end: Floats) -> float:
    counted = np.asarray(case.context["counted"])
    return superposed_rmsd(end[counted], np.asarray(case.context["positions"])[counted])


def _changes(case: Case, end: Floats) -> dict[str, float]:
    """Mean absolute changes of bond lengths (Å) and angles (degrees); nothing for what a molecule does not have."""
    start, pairs = np.asarray(case.context["positions"]), np.asarray(case.context["bonds"])
    triples, changes = angles(pairs), {}
    if len(pairs):
        changes["bond_change"] = float(np.abs(bond_lengths(end, pairs) - bond_lengths(start, pairs)).mean())
    if len(triples):
        changes["angle_change"] = float(np.abs(bond_angles(end, triples) - bond_angles(start, triples)).mean())
    return changes


def _released(outcomes: Mapping[str, Outcome]) -> float:
    """Energy (eV) from the displaced copy to where its minimisation ended."""
    values = outcomes[DISPLACED].values
    return float(values["start_energy"]) - float(values["energy"])


def _stiffness(case: Case, outcomes: Mapping[str, Outcome]) -> float:
    """Mean second derivative (eV/Å²) of the energy along random directions, from steps there and back."""
    energies = [point.energy for point in outcomes[STIFFNESS].points()]
    return 2.0 * float(np.mean(energies[1:]) - energies[0]) / float(case.context["jolt"])


def _descent(outcome: Outcome) -> Floats:
    energies = np.asarray(outcome.values["energies"], dtype=float)
    return np.asarray(energies - energies[-1])
