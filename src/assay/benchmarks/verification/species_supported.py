"""The model answers for every species that it claims, alone and in small clusters.

A list of elements on a model card is a promise. A model that raises or returns NaN for one of them will do so in the
middle of somebody's simulation.

Protocol: for every claimed species (all of them, not a sample)
- one atom, and random clusters of two, three and four atoms at three spacings each; a size counts as answered if any of
  its samples gives finite energy and forces;
- the lone atom and at least one size of cluster must be answered; each size that is not costs a letter;
- NaN is never an answer.
Models that claim nothing are held to the elements that they did not refuse when asked.
Reference: the model's own claim.
Cite: OpenKIM verification check vc-species-supported-as-stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Residual
from assay.configurations import cluster, symbol
from assay.errors import INVALID
from assay.jobs import SinglePoints
from assay.outcome import Outcome
from assay.reasons import counted
from assay.structure import Structure
from assay.survey import Survey

FLOOR = 0.05
"""Far below one size, so that the first size without an answer costs letters."""


@dataclass(frozen=True)
class SpeciesSupported(Check):
    """Energy and forces are finite for every claimed species."""

    mandatory = True
    catches = ("nan_for_one_species", "refuses_claimed_species", "raises")
    sizes: tuple[int, ...] = (2, 3, 4)
    spacings: tuple[float, ...] = (1.0, 1.3, 1.8)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One case for each claimed species."""
        factors = {s.numbers[0]: s.cluster_factor or 1.0 for s in survey.subjects if len(s.numbers) == 1}
        for number in survey.species:
            if number in survey.lost:
                yield Case(symbol(number), {}, lost=survey.lost[number])
                continue
            bodies = [Structure.build([number], [[0.0, 0.0, 0.0]])]
            for size in self.sizes:
                bodies += [cluster((number,), factors.get(number, 1.0) * f, size, size) for f in self.spacings]
            structures = tuple(survey.placed(body) for body in bodies)
            job = SinglePoints(structures, alone=True)
            yield Case(symbol(number), {"points": job}, {"sizes": np.array([len(b) for b in bodies])})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Cluster sizes without any answer. No answer for the lone atom, or for no cluster at all, or NaN: failed."""
        points, sizes = outcomes["points"].points(), np.asarray(case.context["sizes"]).tolist()
        answered = {size for size, point in zip(sizes, points, strict=True) if point.ok}
        invalid = [p.reason for p in points if p.cause in INVALID]
        missing = sorted(set(sizes) - answered)
        hopeless = invalid or 1 in missing or len(missing) == len(set(sizes)) - 1
        reason = counted(invalid or [p.reason for p in points if not p.ok])
        where = f"{case.id}, {' and '.join(map(str, missing))} atoms: {reason}" if missing or invalid else case.id
        count = math.inf if hopeless else float(len(missing))
        unit = "cluster sizes without an answer"
        yield Residual(
            where, count, unit, float(len(set(sizes)) - 2), FLOOR, "the lone atom and some cluster must be answered"
        )
