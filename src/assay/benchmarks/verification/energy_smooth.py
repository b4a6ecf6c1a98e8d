"""Energy and forces change without jumps when atoms meet and part.

A step in the energy at the cutoff is work from nowhere each time two atoms cross it; a step in the force spoils the
integration. Both come from cutoffs without smoothing or with a switching region that is too narrow, from switching
between regimes, and from lists of the nearest neighbours whose members change.

Protocol:
- Dimers from half the bond length to 12 Å, and on to 30 Å in the open: every species with itself and with its neighbour
  in the list (every pair up to four species).
- One atom of a cluster of six, and of twelve, is pulled out along a ray, so that neighbours cross its cutoff.
- One atom of a crystal of 32 (copper if the model has it; 54 atoms in the open) moves halfway into a vacancy, so that
  the order of its neighbours changes.
- Intervals are halved where a smooth curve would not pass, down to 1e-6 Å. A step of the energy within 0.02 Å, about
  what atoms travel in one step of a simulation, counts as a jump.
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
from assay.benchmarks.bases.limits import Limits, Refused, Residual
from assay.benchmarks.bases.paths import ENERGY_JUMP, FORCE_JUMP, Path, place_on_path
from assay.benchmarks.builders.walks import walks
from assay.configurations import dimer, symbol
from assay.observation import Plot
from assay.outcome import Outcome
from assay.survey import Survey, touching

IN_CRYSTAL = 0.1
"""In a crystal, whose evaluations take long, jumps are looked for down to a tenth of what passes."""


@dataclass(frozen=True)
class EnergySmooth(Check):
    """No jump in energy (C0) or forces (C1) along paths through the cutoff."""

    version = 2
    catches = (
        "discontinuous_at_cutoff", "force_jump_at_cutoff", "neighbour_cap",
    )  # fmt: skip
    plots = (
        *Check.plots,
        Plot("curve", "energy", "distance", "energy along the path", "distance (Å)", "energy (eV)"),
    )
    reach: float = 12.0
    far: float = 30.0
    step: float = 0.1
    budget: int = 1000

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Dimers, clusters that lose an atom, and a crystal in which an atom moves."""
        return (path.case(survey) for path in self._paths(survey))

    def _paths(self, survey: Survey) -> Iterable[Path]:
        coarse = 2.0 * self.step
        singles = [s.numbers[0] for s in survey.subjects if len(s.numbers) == 1 and s.cluster_factor is not None]
        for first, second in _pairs(singles):
            near = 0.5 * touching(first, second, survey)
            far = {"far": self.far - near, "far_step": 20.0 * self.step} if "FFF" in survey.pbc else {}
            name, body = f"{symbol(first)}-{symbol(second)}", dimer(first, second, near)
            yield Path(name, body, 1, 0.0, self.reach - near, self.step, self.budget, settings=far)
        bodies = [(f"{label}-cluster", body) for label, body in survey.clusters()]
        bodies += [(f"{label}-cluster12", body) for label, body in survey.large_clusters()]
        for name, body in bodies:
            outermost = int(np.argmax(np.linalg.norm(body.positions - body.positions.mean(axis=0), axis=1)))
            yield Path(name, body, outermost, -0.3, self.reach, coarse, self.budget)
        for walk in walks(survey):
            body, scale = walk.structure, {"barrier": 1.0}
            ends = walk.start, walk.end
            yield Path(walk.name, body, walk.atom, *ends, coarse, self.budget, walk.direction, IN_CRYSTAL, scale)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The largest jumps along the path, and the largest steps that are nearly jumps."""
        limits, values = Limits.of(case), outcomes["path"].values
        well, jumps, steps = float(values["well"]), values["jumps"], values.get("steps", [])
        if values["unseen"] and not jumps:
            raise Refused(f"the model refused places on the path, so that jumps cannot be excluded: {values['reason']}")
        noise = (max(limits.noise_energy, 1e-10), max(limits.noise_force, 1e-9))
        allowed = (max(ENERGY_JUMP * well, 20.0 * noise[0]), max(FORCE_JUMP * well, 20.0 * noise[1]))
        why = f"1e-4 (energy) and 1e-3 per Å (force) of the well depth of {well:.2g} eV"
        # What is left of roughness when the evaluations are used up is in units of the finest limit.
        left = float(case.context.get("finer", 1e-2)) * allowed[0] * values["roughness"]
        curve = {"distance": np.asarray(values["at"]) + float(case.context.get("start", 0.0))}
        curve["energy"] = np.asarray(values["energy"]) - float(np.asarray(values["energy"])[-1])
        yield Residual(f"roughness along the path {case.id}", left, "eV", allowed[0], noise[0], why, curve)
        for jump in jumps:
            place = place_on_path(case, jump)
            yield Residual(f"energy jump {place}", jump["energy"], "eV", allowed[0], noise[0], why)
            wall = FORCE_JUMP * jump["size"]  # on a steep wall a step of a thousandth is below notice
            yield Residual(f"force jump {place}", jump["force"], "eV/Å", allowed[1] + wall, noise[1], why)
        for step in steps:
            where = f"the energy changes within {step['width']:.2g} Å {place_on_path(case, step)}"
            yield Residual(where, step["energy"], "eV", allowed[0] + step["rounding"], noise[0], why)


def _pairs(numbers: list[int]) -> list[tuple[int, int]]:
    """Every pair of up to four species; of more, each with itself and with the next one."""
    if len(numbers) <= 4:
        return [(a, b) for i, a in enumerate(numbers) for b in numbers[i:]]
    return [(a, a) for a in numbers] + list(itertools.pairwise(numbers))
