"""Energy and forces change without jumps when atoms meet and part.

A step in the energy at the cutoff is work from nowhere each time two atoms cross it; a step in the force spoils the
integration. Both come from cutoffs without smoothing, from switching between regimes, and from lists of the nearest
neighbours whose members change.

Protocol:
- Dimers from half the bond length to 12 Å: every species with itself and with its neighbour in the list (every pair up
  to four species).
- One atom of a cluster of six, and of twelve, is pulled out along a ray, so that neighbours cross its cutoff.
- Intervals are halved where a smooth curve would not pass, down to 1e-6 Å.
- Jumps pass up to 1e-4 of the well depth in energy and 1e-3 per Å of it in force (depths beyond 1 eV count as 1 eV):
  they then cost less than kT/250 per crossing. Smaller jumps are reported and cost a letter.
Reference: a smooth surface.
Cite: OpenKIM verification check vc-dimer-continuity-c1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import EPSILON, Limits, Refused, Residual
from assay.configurations import dimer, symbol
from assay.jobs import Probe
from assay.observation import Plot
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey, touching

ENERGY_JUMP, FORCE_JUMP = 1e-4, 1e-3
FINER = 1e-2
"""Jumps are looked for down to this fraction of what passes."""


@dataclass(frozen=True)
class EnergySmooth(Check):
    """No jump in energy (C0) or forces (C1) along paths through the cutoff."""

    catches = ("discontinuous_at_cutoff", "force_jump_at_cutoff", "neighbour_cap")
    plots = (
        *Check.plots,
        Plot("curve", "energy", "distance", "energy along the path", "distance (Å)", "energy (eV)"),
    )
    reach: float = 12.0
    step: float = 0.1
    budget: int = 1000

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Dimers, then clusters that lose an atom."""
        singles = [s.numbers[0] for s in survey.subjects if len(s.numbers) == 1 and s.cluster_factor is not None]
        for first, second in _pairs(singles):
            length = touching(first, second, survey)
            body = dimer(first, second, 0.5 * length)
            yield self._case(f"{symbol(first)}-{symbol(second)}", survey, body, 1, 0.0, self.reach - 0.5 * length)
        bodies = [(f"{label}-cluster", body) for label, body in survey.clusters()]
        bodies += [(f"{label}-cluster12", body) for label, body in survey.large_clusters()]
        for name, body in bodies:
            centre = body.positions.mean(axis=0)
            atom = int(np.argmax(np.linalg.norm(body.positions - centre, axis=1)))
            yield self._case(name, survey, body, atom, -0.3, self.reach)

    def _case(self, name: str, survey: Survey, body: Structure, atom: int, start: float, end: float) -> Case:
        ray = body.positions[atom] - body.positions[[i for i in range(len(body)) if i != atom]].mean(axis=0)
        x, y, z = (float(v) for v in ray / np.linalg.norm(ray))
        free = "FFF" in survey.pbc
        settings = {
            "atom": atom, "x": x, "y": y, "z": z, "start": start, "end": end if free else min(end, 8.0),
            "step": self.step if len(body) == 2 else 2.0 * self.step, "budget": self.budget,
            "energy_limit": _finest(ENERGY_JUMP, survey.noise_energy),
            "force_limit": _finest(FORCE_JUMP, survey.noise_force),
            "epsilon": EPSILON[survey.precision],
        }  # fmt: skip
        placed = body if any(body.pbc) else survey.placed(body)
        apart = float(np.linalg.norm(body.positions[1] - body.positions[0]))
        context = {"pair": name.replace("-", "–"), "start": apart} if len(body) == 2 else {}
        return Case(name, {"path": Probe("path", (placed,), settings, force_calls=self.budget // 2)}, context)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The largest jumps along the path."""
        limits, values = Limits.of(case), outcomes["path"].values
        well, jumps = float(values["well"]), values["jumps"]
        if values["unseen"] and not jumps:
            raise Refused(f"the model refused places on the path, so that jumps cannot be excluded: {values['reason']}")
        noise = (max(limits.noise_energy, 1e-10), max(limits.noise_force, 1e-9))
        allowed = (max(ENERGY_JUMP * well, 20.0 * noise[0]), max(FORCE_JUMP * well, 20.0 * noise[1]))
        why = f"1e-4 (energy) and 1e-3 per Å (force) of the well depth of {well:.2g} eV"
        # What is left of roughness when the evaluations are used up is in units of the finest limit.
        left = FINER * allowed[0] * values["roughness"]
        curve = {"distance": np.asarray(values["at"]) + float(case.context.get("start", 0.0))}
        curve["energy"] = np.asarray(values["energy"]) - float(np.asarray(values["energy"])[-1])
        yield Residual(f"roughness along the path {case.id}", left, "eV", allowed[0], noise[0], why, curve)
        for jump in jumps:
            place = _place(case, float(jump["at"]))
            yield Residual(f"energy jump {place}", jump["energy"], "eV", allowed[0], noise[0], why)
            wall = FORCE_JUMP * jump["size"]  # on a steep wall a step of a thousandth is below notice
            yield Residual(f"force jump {place}", jump["force"], "eV/Å", allowed[1] + wall, noise[1], why)


def _place(case: Case, at: float) -> str:
    """Where on a path a jump lies: by the distance of two atoms, or by the distance that the atom has moved."""
    if "pair" in case.context:
        return f"at the {case.context['pair']} distance of {case.context['start'] + at:.3f} Å"
    return f"{at:.3f} Å along the path {case.id}"


def _finest(limit: float, noise: float) -> float:
    return max(FINER * limit, 20.0 * noise)


def _pairs(numbers: list[int]) -> list[tuple[int, int]]:
    """Every pair of up to four species; of more, each with itself and with the next one."""
    if len(numbers) <= 4:
        return [(a, b) for i, a in enumerate(numbers) for b in numbers[i:]]
    return [(a, a) for a in numbers] + list(itertools.pairwise(numbers))
