"""The force Jacobian is symmetric, so that work around a closed loop is zero.

If the force on atom i changes when atom j moves, the force on j must change equally when i moves. Forces that are
predicted directly instead of derived from an energy violate this, and heat or cool a simulation without cause.

Protocol:
- The Jacobian dF_i/dx_j of distorted clusters and crystals by the displacements of `forces_match_energy`, whose
  evaluations are shared.
- The largest |J − Jᵀ| relative to the largest |J|, at the step where it is least: work around a loop shows at every
  step, a kink in the curvature does not.
Reference: exact for any force that derives from an energy.
Cite: Bigi, Langer and Ceriotti 2025.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.derivative import coordinate, judge_derivatives, ladder_cases, split_ladder
from assay.benchmarks.bases.limits import Limits, Residual
from assay.outcome import Outcome
from assay.structure import Floats
from assay.survey import Survey

RELATIVE = {"float64": 3e-4, "float32": 1e-2}
"""Largest asymmetry relative to the largest element of the Jacobian that passes."""


@dataclass(frozen=True)
class ForcesConservative(Check):
    """dF_i/dx_j = dF_j/dx_i for every pair of coordinates."""

    catches = ("non_conservative", "zero_force")

    def trials(self, survey: Survey) -> Iterable[Case]:
        """The ladder of displacements of every cluster and crystal."""
        return ladder_cases(survey)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The most asymmetric pair of coordinates."""
        limits = Limits.of(case)
        base, steps, _, forces = split_ladder(case, outcomes["ladder"])
        noise = limits.force_noise(float(np.abs(base.forces).max()))
        jacobian, uncertainty = extrapolated_derivative(steps, forces[:, 0], forces[:, 1], noise)
        scale = float(np.abs(jacobian).max())
        if scale == 0.0:
            yield Residual(
                f"{case.id}: no force ever changes", np.inf, "eV/Å²", 0.0, 0.0, "trivial forces are no forces"
            )
            return
        gap = derivative_gap(steps, base.forces.ravel()[None, :], forces[:, 0], forces[:, 1], noise)
        uncertain, kinks = np.maximum(uncertainty, uncertainty.T), np.maximum(gap, gap.T)
        relative = RELATIVE[limits.precision]
        found = judge_derivatives(
            np.abs(jacobian - jacobian.T), uncertain, kinks, scale, relative, limits.epsilon * scale
        )
        error = min(found.error, least_asymmetry(steps, forces))
        i, j = divmod(found.worst, len(jacobian))
        why = f"{relative:.0e} of the largest element ({scale:.2g} eV/Å²) in {limits.precision}, more at kinks"
        where = f"{case.id} {coordinate(i)} with {coordinate(j)}"
        yield Residual(where, error, "eV/Å²", found.allowed, found.floor, why)


def least_asymmetry(steps: Floats, forces: Floats) -> float:
    """The largest asymmetry of the Jacobian (eV/Å²) at the step where it is least.

    Work around a loop that is not zero shows at every step. What shows at large steps and goes away at small ones is
    a kink in the curvature, as of networks whose activation has one, and what shows at small ones only is rounding.
    """
    jacobians = (forces[:, 0] - forces[:, 1]) / (2.0 * steps[:, None, None])
    return float(np.abs(jacobians - jacobians.transpose(0, 2, 1)).max(axis=(1, 2)).min())
