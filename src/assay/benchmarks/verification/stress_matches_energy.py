"""The stress is the derivative of the energy with strain, divided by the volume.

Constant-pressure simulations and cell relaxations follow the stress. Usual errors are the sign, a missing volume, the
order of the shear components, and GPa for eV/Å³.

Protocol:
- Distorted skewed cells under seven strains from 0.008 to 1.1e-5 both ways, for each of the six components.
- σ = (1/V) dE/dε by extrapolated central differences, in ASE's sign and Voigt order (xx, yy, zz, yz, xz, xy).
Reference: the model's own energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.benchmark import Case, Plot
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.derivative import judge_derivatives
from assay.benchmarks.bases.limits import Limits, Refused, Residual, base_point
from assay.errors import Cause
from assay.jobs import SinglePoints
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
NAMES = ("xx", "yy", "zz", "yz", "xz", "xy")
STEPS = tuple(0.008 / 3**k for k in range(7))
RELATIVE = {"float64": 1e-4, "float32": 3e-3}


@dataclass(frozen=True)
class StressMatchesEnergy(Check):
    """σ = (1/V) dE/dε for all six components."""

    catches = ("wrong_stress_sign", "stress_voigt_order")
    plots = (*Check.plots, Plot("parity", "stress", "derivative", "stress", "dE/dε / V (eV/Å³)", "stress (eV/Å³)"))

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Every crystal of a model that has periodic systems and a stress."""
        if "TTT" not in survey.pbc or not survey.stress:
            why = "no stress" if "TTT" in survey.pbc else "periodic systems in all three directions are not supported"
            yield Case("stress", {}, unsupported=why)
            return
        for label, structure in survey.crystals("TTT"):
            jobs = {
                "base": SinglePoints((structure,), ("energy", "forces", "stress"), alone=True),
                "strained": _strained(structure),
            }
            yield Case(f"{label}-TTT", jobs, {"volume": structure.volume, "steps": np.array(STEPS)})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The worst of the six components."""
        limits, base = Limits.of(case), base_point(outcomes["base"].points())
        if base.stress is None:
            raise Refused("returned no stress although it lists stress among its properties", Cause.MALFORMED)
        points = outcomes["strained"].points()
        bad = next((p for p in points if not p.ok), None)
        if bad is not None:
            raise Refused(bad.reason, bad.cause)
        steps, volume = np.asarray(case.context["steps"]), float(case.context["volume"])
        energies = np.array([p.energy for p in points]).reshape(len(steps), 2, 6)
        noise = limits.energy_noise(base.energy)
        slope, uncertainty = extrapolated_derivative(steps, energies[:, 0], energies[:, 1], noise)
        expected, scale = slope / volume, max(float(np.abs(slope).max()) / volume, float(np.abs(base.stress).max()))
        if scale == 0.0:
            yield Residual(f"{case.id}: the stress is zero", np.inf, "eV/Å³", 0.0, 0.0, "trivial stress is no stress")
            return
        gap = derivative_gap(steps, np.array(base.energy), energies[:, 0], energies[:, 1], noise) / volume
        rounding = noise / steps[0] / volume
        relative = RELATIVE[limits.precision]
        found = judge_derivatives(np.abs(base.stress - expected), uncertainty / volume, gap, scale, relative, rounding)
        why = f"{relative:.0e} of the largest component ({scale:.2g} eV/Å³) in {limits.precision}, more at kinks"
        where, data = f"{case.id} {NAMES[found.worst]}", {"stress": base.stress, "derivative": expected}
        yield Residual(where, found.error, "eV/Å³", found.allowed, found.floor, why, data)


def _strained(structure: Structure) -> SinglePoints:
    """Order: step, then sign, then Voigt component; a shear is shared by both triangles, so dE/dh = V σ."""
    copies = []
    for step in STEPS:
        for sign in (1.0, -1.0):
            for i, j in VOIGT:
                strain = np.eye(3)
                strain[i, j] += 0.5 * sign * step
                strain[j, i] += 0.5 * sign * step
                copies.append(structure.transformed(strain))
    return SinglePoints(tuple(copies), alone=True)
