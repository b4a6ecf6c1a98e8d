"""Minimisations of a molecule: whether they went well, the energy they release, and the stiffness of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.analysis.molecule import Indices, broken_and_made
from assay.benchmark import Case
from assay.data.dataset import Record
from assay.outcome import FAILED, Outcome
from assay.units import KCAL


def minimisation_problem(case: Case, outcome: Outcome) -> str:
    """Why a minimisation cannot be judged by where it ended; empty if it can.

    The context of the case has `bonds`, `radii` (Å) and `symbols` of the atoms.
    """
    if outcome.status == FAILED:
        return outcome.reason
    if not outcome.values["converged"]:
        steps, force = outcome.values["steps"], outcome.values["max_force"]
        return f"not converged after {steps} steps, largest force {force:.2g} eV/Å"
    pairs, radii = np.asarray(case.context["bonds"]), np.asarray(case.context["radii"])
    symbols = case.context["symbols"]
    found = broken_and_made(np.asarray(outcome.values["positions"]), pairs, radii)
    for word, rows in zip(("broken", "made"), found, strict=True):
        if len(rows):
            i, j = (int(k) for k in rows[0])
            return f"{len(rows)} bonds {word}, the first {symbols[i]}{i}-{symbols[j]}{j}"
    return ""


def released_energy(outcome: Outcome) -> float:
    """Energy (eV) from the start of a minimisation to its end."""
    return float(outcome.values["start_energy"]) - float(outcome.values["energy"])


def stiffness(outcome: Outcome, mean_square: float) -> float:
    """Mean second derivative (eV/Å²) of the energy along random directions.

    The first point is the minimum, the others are displaced there and back, by `mean_square` (Å²) in the mean: the
    energy rises by half the stiffness times the squared displacement.
    """
    energies = [point.energy for point in outcome.points()]
    return 2.0 * float(np.mean(energies[1:]) - energies[0]) / mean_square


def descents(outcomes: Mapping[str, Outcome], roles: Sequence[str]) -> dict[str, object]:
    """The energies (kcal/mol) of minimisations, step by step, above their ends, for plots."""
    found: dict[str, object] = {"unit": "kcal/mol"}
    for role in roles:
        energies = np.asarray(outcomes[role].values["energies"], dtype=float)
        found[f"steps_{role}"] = np.arange(len(energies))
        found[f"energies_from_{role}"] = KCAL * (energies - energies[-1])
    return found


def counted_atoms(record: Record) -> Indices:
    """The atoms of a geometry that are compared: the heavy ones, or all if fewer than three are heavy."""
    numbers = record.structures[0].numbers
    heavy = np.flatnonzero(numbers > 1).astype(np.int64)
    return heavy if len(heavy) >= 3 else np.arange(len(numbers), dtype=np.int64)


def strain_energy(record: Record) -> float | None:
    """Energy (eV) of the displaced copy above the reference geometry; None where the data has none."""
    if record.energies is None or len(record.energies) < 2 or record.energies[1] - record.energies[0] <= 0.0:
        return None
    return float(record.energies[1] - record.energies[0])
