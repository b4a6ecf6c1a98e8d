"""The stress is the derivative of the energy with strain, divided by the volume.

Constant-pressure simulations and cell relaxations follow the stress. Usual errors are the sign, a missing volume, the
order of the shear components, GPa for eV/Å³, and for slabs the volume of another cell.

Protocol:
- Distorted skewed cells under seven strains from 0.008 to 1.1e-5 both ways, for each of the six components.
- σ = (1/V) dE/dε by extrapolated central differences, in ASE's sign and Voigt order (xx, yy, zz, yz, xz, xy).
- A slab (TTF) and a wire (TFF) of the first species: the components within the plane, and along the wire, with the
  volume of the cell as it is given. Models without a stress for slabs are not asked.
Reference: the model's own energy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.differences import derivative_gap, extrapolated_derivative
from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.derivative import judge_derivatives, require_resolved
from assay.benchmarks.bases.limits import Limits, NotApplicable, Refused, Residual, base_point
from assay.benchmarks.builders.strained import components, strained
from assay.errors import Cause
from assay.jobs import SinglePoints
from assay.observation import Plot
from assay.outcome import Outcome, Point
from assay.structure import Floats, Structure
from assay.survey import Survey

STEPS = tuple(0.008 / 3**k for k in range(7))
RELATIVE = {"float64": 1e-4, "float32": 3e-3}


@dataclass(frozen=True)
class StressMatchesEnergy(Check):
    """σ = (1/V) dE/dε for all six components, or for those along periodic directions."""

    version = 2
    catches = ("wrong_stress_sign", "stress_voigt_order", "slab_stress_of_other_volume", "no_stress_along_wires")
    plots = (*Check.plots, Plot("parity", "stress", "derivative", "stress", "dE/dε / V (eV/Å³)", "stress (eV/Å³)"))

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Every crystal of a model that has periodic systems and a stress, and a slab and a wire."""
        if "TTT" not in survey.pbc or not survey.stress:
            why = "no stress" if "TTT" in survey.pbc else "periodic systems in all three directions are not supported"
            yield Case("stress", {}, unsupported=why)
            return
        for label, structure in survey.crystals("TTT"):
            yield _case(f"{label}-TTT", structure)
        for pattern in ("TTF", "TFF"):
            for label, structure in survey.crystals(pattern)[:1]:
                yield _case(f"{label}-{pattern}", structure)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The worst of the components."""
        limits, base, points = Limits.of(case), outcomes["base"].points()[0], outcomes["strained"].points()
        full = _stress(base, points, case.context.get("names") is not None)
        names, directions = components("TTT", np.eye(3))
        names, directions = (case.context.get("names", names), case.context.get("directions", directions))
        stress = np.einsum("kij,ij->k", np.asarray(directions), full[[[0, 5, 4], [5, 1, 3], [4, 3, 2]]])
        steps, volume = np.asarray(case.context["steps"]), float(case.context["volume"])
        energies = np.array([p.energy for p in points]).reshape(len(steps), 2, len(stress))
        noise = limits.energy_noise(base.energy, len(base.forces), energies)
        slope, uncertainty = extrapolated_derivative(steps, energies[:, 0], energies[:, 1], noise)
        expected, scale = slope / volume, max(float(np.abs(slope).max()) / volume, float(np.abs(stress).max()))
        if scale == 0.0:
            yield Residual(f"{case.id}: the stress is zero", np.inf, "eV/Å³", 0.0, 0.0, "trivial stress is no stress")
            return
        gap = derivative_gap(steps, np.array(base.energy), energies[:, 0], energies[:, 1], noise) / volume
        rounding, relative = noise / steps[0] / volume, RELATIVE[limits.precision]
        errors, uncertainty = np.abs(stress - expected), uncertainty / volume
        require_resolved(errors, uncertainty, scale, rounding, base.energy, "stress", "Å³")
        found = judge_derivatives(errors, uncertainty, gap, scale, relative, rounding)
        why = f"{relative:.0e} of the largest component ({scale:.2g} eV/Å³) in {limits.precision}, more at kinks"
        where, data = f"{case.id} {names[found.worst]}", {"stress": stress, "derivative": expected}
        yield Residual(where, found.error, "eV/Å³", found.allowed, found.floor, why, data)


def _case(name: str, structure: Structure) -> Case:
    names, directions = components(structure.pattern, structure.cell)
    jobs = {
        "base": SinglePoints((structure,), ("energy", "forces", "stress"), alone=True),
        "strained": SinglePoints(tuple(strained(structure, directions, STEPS)), alone=True),
    }
    context = {"volume": structure.volume, "steps": np.array(STEPS)}
    extra = {} if all(structure.pbc) else {"names": names, "directions": directions}
    return Case(name, jobs, {**context, **extra})


def _stress(base: Point, strained: Sequence[Point], optional: bool) -> Floats:
    """The stress of the unstrained structure; many models have none for slabs and wires, where it is `optional`."""
    if optional and strained[0].ok and (base.cause == Cause.REFUSED or (base.ok and base.stress is None)):
        raise NotApplicable("no stress for slabs and wires")
    base_point([base])
    if base.stress is None:
        raise Refused("returned no stress although it lists stress among its properties", Cause.MALFORMED)
    bad = next((p for p in strained if not p.ok), None)
    if bad is not None:
        raise Refused(bad.reason, bad.cause)
    return base.stress
