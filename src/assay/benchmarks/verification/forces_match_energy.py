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
Reference: the model's own energy.
Cite: OpenKIM verification check vc-forces-numerical-derivative; Ridders 1982.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.benchmark import Case, Plot
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.derivative import coordinate, judge_derivatives, ladder_cases, split_ladder
from assay.benchmarks.bases.limits import Limits, Residual
from assay.outcome import Outcome
from assay.survey import Survey

RELATIVE = {"float64": 1e-4, "float32": 3e-3}
"""Largest error of a force component relative to the largest force that passes."""


@dataclass(frozen=True)
class ForcesMatchEnergy(Check):
    """F = −dE/dx for every coordinate."""

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
        noise = limits.energy_noise(base.energy)
        slope, uncertainty = extrapolated_derivative(steps, energies[:, 0], energies[:, 1], noise)
        scale = max(float(np.abs(forces).max()), float(np.abs(slope).max()))
        if float(np.abs(forces).max()) == 0.0:
            yield Residual(f"{case.id}: all forces are zero", np.inf, "eV/Å", 0.0, 0.0, "trivial forces are no forces")
            return
        gap = derivative_gap(steps, np.array(base.energy), energies[:, 0], energies[:, 1], noise)
        relative = RELATIVE[limits.precision]
        found = judge_derivatives(np.abs(forces + slope), uncertainty, gap, scale, relative, noise / steps[0])
        why = f"{relative:.0e} of the largest force ({scale:.2g} eV/Å) in {limits.precision}, more at kinks"
        where, data = f"{case.id} {coordinate(found.worst)}", {"forces": forces, "gradient": -slope}
        yield Residual(where, found.error, "eV/Å", found.allowed, found.floor, why, data)
