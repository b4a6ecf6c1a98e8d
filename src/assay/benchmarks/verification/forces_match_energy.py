"""Forces are the negative gradient of the energy.

Dynamics conserve energy and minimisations end in minima only if F = −dE/dx. Models break this with direct force heads,
with missing terms in a hand-written gradient, with wrong units, or by returning no forces at all.

Protocol: every coordinate of distorted clusters and crystals is displaced by six steps from 0.032 to 0.001 Å both ways;
central differences are extrapolated to zero step. The estimate is chosen by its own uncertainty, never by closeness to
the force under test; that uncertainty is the noise floor. Structures whose forces are all zero fail.
Reference: the model's own energy.    Cite: OpenKIM verification check vc-forces-numerical-derivative; Ridders 1982.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import extrapolated_derivative
from assay.benchmark import Case
from assay.benchmarks.verification._check import Check, Limits, Residual
from assay.benchmarks.verification._derivative import coordinate, ladder_cases, split_ladder
from assay.outcome import Outcome
from assay.survey import Survey

RELATIVE = {"float64": 1e-4, "float32": 3e-3}
"""Largest error of a force component relative to the largest force that passes."""

LOOSEST = 0.02
"""However noisy the energy, an error beyond this fraction of the largest force is never forgiven."""


@dataclass(frozen=True)
class ForcesMatchEnergy(Check):
    """F = −dE/dx for every coordinate."""

    mandatory = True
    catches = (
        "zero_force", "constant_energy", "frozen", "non_conservative", "scaled_forces", "wrong_sign_forces",
        "mixed_units",
    )  # fmt: skip

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The ladder of displacements of every cluster and crystal."""
        return ladder_cases(survey)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The worst coordinate of the structure."""
        limits = Limits.of(case)
        base, steps, energies, _ = split_ladder(case, outcomes["ladder"])
        forces = base.forces.ravel()
        slope, doubt = extrapolated_derivative(steps, energies[:, 0], energies[:, 1])
        scale = max(float(np.abs(forces).max()), float(np.abs(slope).max()))
        if float(np.abs(forces).max()) == 0.0:
            yield Residual(f"{case.id}: all forces are zero", np.inf, "eV/Å", 0.0, 0.0, "trivial forces are no forces")
            return
        rounding = limits.epsilon * max(abs(base.energy), 1.0) / steps[0]
        allowed = np.minimum(np.maximum(RELATIVE[limits.precision] * scale, 10.0 * doubt), LOOSEST * scale)
        # The letter is given against the usual uncertainty, so that a rough spot cannot excuse itself.
        floor = max(float(np.median(doubt)), rounding)
        errors = np.abs(forces + slope)
        worst = int(np.argmax(errors / allowed))
        why = f"{RELATIVE[limits.precision]:.0e} of the largest force ({scale:.2g} eV/Å) in {limits.precision}"
        yield Residual(
            f"{case.id} {coordinate(worst)}",
            float(errors[worst]),
            "eV/Å",
            float(allowed[worst]),
            floor,
            why,
        )
