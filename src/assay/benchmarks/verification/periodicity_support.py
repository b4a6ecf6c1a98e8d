"""Doubling the cell doubles the energy, in every pattern of periodic directions.

A crystal does not know which of its cells we drew. If the box is doubled along p periodic directions, the energy must
grow by 2^p and every copy of an atom must feel the same force; and the length of a cell vector along which nothing is
periodic must not matter.

Protocol: distorted, skewed four-atom cells, smaller than most cutoffs, in the patterns TTT, TTF, TFT, TFF, FTT, FTF,
FFT; doubled along all periodic directions of the pattern; cell vectors of the other directions made 1.7 times longer.
The periodic directions of what was evaluated are read back from the atoms and compared with the pattern.
Reference: exact symmetry.    Cite: OpenKIM verification check vc-periodicity-support.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.verification._check import Check, Limits, Residual, base_point, compare
from assay.jobs import SinglePoints
from assay.model import PERIODIC_PATTERNS
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey


@dataclass(frozen=True)
class PeriodicitySupport(Check):
    """The energy of a doubled cell is 2^p times that of the cell, and copies have equal forces."""

    mandatory = True
    catches = ("minimum_image_only", "ignores_pbc", "ignores_pbc_z", "always_periodic")
    stretch: float = 1.7

    def trials(self, survey: Survey) -> Iterable[Case]:
        """Every species and the mixture in each of the seven patterns."""
        if not survey.periodic_patterns:
            yield Case("periodic", {}, unsupported="the model does not claim periodic systems")
            return
        for pattern in PERIODIC_PATTERNS:
            if pattern not in survey.pbc:
                yield Case(pattern, {}, unsupported=f"the model does not claim the pattern {pattern}")
            for label, structure in survey.crystals(pattern):
                times = tuple(2 if periodic else 1 for periodic in structure.pbc)
                doubled = structure.repeated((times[0], times[1], times[2]))
                copies = [structure, doubled, *([self._longer(structure)] if "F" in pattern else [])]
                context = {"pattern": pattern, "p": pattern.count("T")}
                yield Case(f"{label}-{pattern}", {"points": SinglePoints(tuple(copies))}, context)

    def _longer(self, structure: Structure) -> Structure:
        lengths = np.where(structure.pbc, 1.0, self.stretch)
        return replace(structure, cell=structure.cell * lengths[:, None])

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The doubled cell against 2^p times the cell, and the cell with longer vacuum against itself."""
        limits, points = Limits.of(case), outcomes["points"].points()
        base, p, pattern = base_point(points), int(case.context["p"]), case.context["pattern"]
        if p < 1 or any(point.ok and point.pbc != pattern for point in points):
            patterns = {point.pbc for point in points}
            yield Residual(
                f"{case.id} evaluated with periodic directions {patterns}", np.inf, "eV", 0.0, 0.0, "as asked for"
            )
            return
        copies, where = (
            2**p,
            f"{case.id} doubled along p={p} directions, N {len(base.forces)} → {2**p * len(base.forces)}",
        )
        yield from compare(limits, where, base, points[1], copies * base.energy, np.tile(base.forces, (copies, 1)))
        for point in points[2:]:
            where = f"{case.id} with longer vectors along directions that are not periodic"
            yield from compare(limits, where, base, point, base.energy, base.forces)
