"""Forces are the negative gradient of the energy.

Dynamics conserve energy and minimisations end in minima only if F = −dE/dx. Models break this with direct force heads,
with missing terms in a hand-written gradient, with wrong units, or by returning no forces at all.

Protocol:
- Every coordinate of distorted clusters and crystals, and of a slab and a wire, is displaced both ways by eight steps
  from 0.032 to 1.5e-5 Å; central differences are extrapolated to zero step.
- The estimate is chosen by its own uncertainty, never by closeness to the force under test; that uncertainty is the
  noise floor.
- At a kink of the energy (a force that steps at a cutoff, which `energy_smooth` judges) the force may be that of either
  side.
- Structures whose forces are all zero fail.
- If rounding of the energy leaves its slope uncertain by more than 1 % of the largest force, the structure is not
  resolved, and is neither passed nor failed.
- Where forces of a species are −1, ½ or 2 times −dE/dx, or a factor of units, the comment says so.
Reference: the model's own energy.
Cite: OpenKIM verification check vc-forces-numerical-derivative; Ridders 1982.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.analysis.force_ratio import ratios_by_species
from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.derivative import (
    Judged,
    coordinate,
    judge_derivatives,
    ladder_cases,
    require_resolved,
    split_ladder,
)
from assay.benchmarks.bases.limits import Limits, Residual
from assay.configurations import symbol
from assay.observation import Plot
from assay.outcome import Outcome
from assay.structure import Floats
from assay.survey import Survey

RELATIVE = {"float64": 1e-4, "float32": 3e-3}
"""Largest error of a force component relative to the largest force that passes."""


@dataclass(frozen=True)
class ForcesMatchEnergy(Check):
    """F = −dE/dx for every coordinate."""

    version = 2
    mandatory = True
    catches = (
        "zero_force", "constant_energy", "frozen", "non_conservative", "scaled_forces", "wrong_sign_forces",
        "mixed_units",
    )  # fmt: skip

    plots = (*Check.plots, Plot("parity", "forces", "gradient", "forces", "−dE/dx (eV/Å)", "force (eV/Å)"))

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The ladder of displacements of every cluster and crystal."""
        return ladder_cases(survey)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The worst coordinate of the structure."""
        limits = Limits.of(case)
        base, steps, energies, _ = split_ladder(case, outcomes["ladder"])
        forces = base.forces.ravel()
        noise = limits.energy_noise(base.energy, len(base.forces), energies)
        slope, uncertainty = extrapolated_derivative(steps, energies[:, 0], energies[:, 1], noise)
        scale = max(float(np.abs(forces).max()), float(np.abs(slope).max()))
        if float(np.abs(forces).max()) == 0.0:
            yield Residual(f"{case.id}: all forces are zero", np.inf, "eV/Å", 0.0, 0.0, "trivial forces are no forces")
            return
        gap = derivative_gap(steps, np.array(base.energy), energies[:, 0], energies[:, 1], noise)
        relative = RELATIVE[limits.precision]
        require_resolved(np.abs(forces + slope), uncertainty, scale, noise / steps[0], base.energy)
        found = judge_derivatives(np.abs(forces + slope), uncertainty, gap, scale, relative, noise / steps[0])
        why = f"{relative:.0e} of the largest force ({scale:.2g} eV/Å) in {limits.precision}, more at kinks"
        data = {"forces": forces, "gradient": -slope}
        where = _diagnosis(case, found, forces, -slope)
        yield Residual(where, found.error, "eV/Å", found.allowed, found.floor, why, data)


def _diagnosis(case: Case, found: Judged, forces: Floats, gradient: Floats) -> str:
    """Where the worst force is and, if it is wrong, both numbers and what they have in common."""
    place = f"{case.id} {coordinate(found.worst)}"
    if found.error <= found.allowed:
        return place
    pair = f"force {forces[found.worst]:.4g} and −dE/dx {gradient[found.worst]:.4g} eV/Å"
    numbers = np.asarray(case.context.get("numbers", []), dtype=np.int64)
    names = [symbol(z) for z in numbers.tolist()]
    return "; ".join([f"{place}: {pair}", *ratios_by_species(numbers, names, forces, gradient)])
