"""Doubling the cell doubles the energy, in every pattern of periodic directions.

A crystal does not depend on which of its cells we draw. If the box is doubled along p periodic directions, the energy
must grow by 2^p and every copy of an atom must feel the same force; and the length of a cell vector along which nothing
is periodic must not matter.

Protocol:
- Distorted, skewed cells of four and three atoms, smaller than most cutoffs, in the patterns TTT, TTF, TFT, TFF, FTT,
  FTF, FFT.
- Doubled along all periodic directions of the pattern, and for one species tripled to 108 atoms.
- Cell vectors of the other directions made 1.7 times longer.
- The periodic directions of what was evaluated are read back from the atoms and compared with the pattern.
Reference: exact symmetry.
Cite: OpenKIM verification check vc-periodicity-support.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual, base_point, compare
from assay.jobs import SinglePoints
from assay.model import PERIODIC_PATTERNS
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey


@dataclass(frozen=True)
class PeriodicitySupport(Check):
    """The energy of a doubled cell is 2^p times that of the cell, and copies have equal forces."""

    mandatory = True
    catches = (
        "minimum_image_only",
        "ignores_pbc",
        "ignores_pbc_z",
        "always_periodic",
        "long_range_tail",
        "size_dependent",
    )
    stretch: float = 1.7
    large: int = 1

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Every species and the mixture in each of the seven patterns."""
        if not survey.periodic_patterns:
            yield Case("periodic", {}, unsupported="the model does not support periodic systems")
            return
        for i, pattern in enumerate(PERIODIC_PATTERNS):
            if pattern not in survey.pbc:
                yield Case(pattern, {}, unsupported=f"the model does not support the pattern {pattern}")
            for label, structure in survey.crystals(pattern):
                # Every other pattern has a vacancy: cells with an odd number of atoms are cells too.
                cell = structure if i % 2 == 0 else structure.reordered(range(len(structure) - 1))
                yield self._case(f"{label}-{pattern}", cell, 2)
        for label, structure in survey.crystals("TTT")[: self.large]:
            yield self._case(f"{label}-TTT-tripled", structure, 3)

    def _case(self, name: str, structure: Structure, times: int) -> Case:
        p, pattern = sum(structure.pbc), structure.pattern
        x, y, z = (times if periodic else 1 for periodic in structure.pbc)
        copies = [structure, structure.repeated((x, y, z)), *([self._longer(structure)] if "F" in pattern else [])]
        job = SinglePoints(tuple(copies), alone=True)
        return Case(name, {"points": job}, {"pattern": pattern, "p": p, "times": times})

    def _longer(self, structure: Structure) -> Structure:
        lengths = np.where(structure.pbc, 1.0, self.stretch)
        return replace(structure, cell=structure.cell * lengths[:, None])

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The doubled cell against 2^p times the cell, and the cell with longer vacuum against itself."""
        limits, points = Limits.of(case), outcomes["points"].points()
        base, p, times = base_point(points), int(case.context["p"]), int(case.context["times"])
        if p < 1 or any(point.ok and point.pbc != case.context["pattern"] for point in points):
            patterns = {point.pbc for point in points}
            where = f"{case.id} evaluated with periodic directions {patterns}"
            yield Residual(where, np.inf, "eV", 0.0, 0.0, "as asked for")
            return
        copies, count = times**p, len(base.forces)
        where = f"{case.id} times {times} along p={p} directions, N {count} → {copies * count}"
        many = replace(limits, noise_energy=copies * limits.noise_energy)  # the noise of the small cell counts so often
        yield from compare(many, where, base, points[1], copies * base.energy, np.tile(base.forces, (copies, 1)))
        for point in points[2:]:
            where = f"{case.id} with longer vectors along directions that are not periodic"
            yield from compare(limits, where, base, point, base.energy, base.forces)
