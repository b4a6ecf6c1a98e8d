"""The model answers for every species that it claims, alone and in small clusters, and ignores none of them.

A list of elements on a model card is a promise. A model that raises or returns NaN for one of them will do so in the
middle of somebody's simulation. One that gives results for an element as if its atoms were not there is worse, whether
it claims the element or not: nobody notices.

Protocol: for every claimed species (all of them, not a sample)
- one atom, and random clusters of two, three and four atoms at three spacings each; a size counts as answered if any of
  its samples gives finite energy and forces;
- the lone atom and at least one size of cluster must be answered; each size that is not costs a letter;
- NaN is never an answer;
- the energy of two atoms must change with their distance, down to 0.6 of contact, and have forces.
For every element that the model does not claim but answers for: one atom of it close to a cluster of a claimed species,
at two distances. If there is no force on it, or if the energy is the same, the model ignores it and fails.
Models that claim nothing are held to the elements that they did not refuse when asked.
Reference: the model's own claim.
Cite: OpenKIM verification check vc-species-supported-as-stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Residual
from assay.benchmarks.bases.points import SILENT_ENERGY, SILENT_FORCE, silence
from assay.configurations import TOUCHING, cluster, radius, symbol
from assay.errors import INVALID
from assay.jobs import SinglePoints
from assay.outcome import Outcome, Point
from assay.reasons import counted
from assay.structure import Structure
from assay.survey import Survey

FLOOR = 0.05
"""Far below one size, so that the first size without an answer costs letters."""

CLOSE = 0.6
"""Two atoms at this fraction of the distance of contact interact in every model; at contact, large ones may not."""

UNIT, WHY = "cluster sizes without an answer", "the lone atom and some cluster must be answered"


@dataclass(frozen=True)
class SpeciesSupported(Check):
    """Energy and forces are finite for every claimed species, and no species is ignored."""

    version = 2
    mandatory = True
    catches = ("nan_for_one_species", "refuses_claimed_species", "raises")
    sizes: tuple[int, ...] = (2, 3, 4)
    spacings: tuple[float, ...] = (1.0, 1.3, 1.8)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One case for each claimed species, and for each other one that the model answers for."""
        factors = {s.numbers[0]: s.cluster_factor or 1.0 for s in survey.subjects if len(s.numbers) == 1}
        for number in survey.species:
            if number in survey.lost:
                yield Case(symbol(number), {}, lost=survey.lost[number])
                continue
            bodies = [Structure.build([number], [[0.0, 0.0, 0.0]])]
            for size in self.sizes:
                bodies += [cluster((number,), factors.get(number, 1.0) * f, size, size) for f in self.spacings]
            sizes = [len(body) for body in bodies]
            close = cluster((number,), CLOSE * min(factors.get(number, 1.0), 1.0), 2, 2)
            job = SinglePoints(tuple(survey.placed(body) for body in (*bodies, close)), alone=True)
            yield Case(symbol(number), {"points": job}, {"sizes": np.array(sizes)})
        known = [z for z in factors if z in survey.answered]
        for number in [z for z in survey.answered if z not in survey.species and known]:
            job = SinglePoints(tuple(map(survey.placed, _beside(number, known[0], factors[known[0]]))), alone=True)
            yield Case(f"{symbol(number)} (not claimed)", {"points": job}, {"sizes": np.zeros(0)})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Cluster sizes without any answer. No answer for the lone atom, or for no cluster at all, or NaN: failed."""
        points, sizes = outcomes["points"].points(), np.asarray(case.context["sizes"]).tolist()
        ignored = _ignored(points, sizes)
        if ignored or not sizes:
            error = math.inf if ignored else 0.0
            yield Residual(f"{case.id}: {ignored}" if ignored else case.id, error, UNIT, 1.0, FLOOR, WHY)
            return
        points = points[: len(sizes)]
        answered = {size for size, point in zip(sizes, points, strict=True) if point.ok}
        invalid = [p.reason for p in points if p.cause in INVALID]
        missing = sorted(set(sizes) - answered)
        hopeless = invalid or 1 in missing or len(missing) == len(set(sizes)) - 1
        reason = counted(invalid or [p.reason for p in points if not p.ok])
        where = f"{case.id}, {' and '.join(map(str, missing))} atoms: {reason}" if missing or invalid else case.id
        yield Residual(where, math.inf if hopeless else float(len(missing)), UNIT, len(set(sizes)) - 2.0, FLOOR, WHY)


def _beside(number: int, host: int, factor: float) -> Iterable[Structure]:
    """Three atoms of a claimed species with one atom of another one beside the first, at two distances."""
    body = cluster((host,), factor, 3)
    away = body.positions[0] / np.linalg.norm(body.positions[0])
    contact = TOUCHING * (radius(host) * min(factor, 1.0) + radius(number))
    for distance in (CLOSE * contact, 1.2 * CLOSE * contact):
        positions = np.vstack([body.positions, body.positions[0] + distance * away])
        yield Structure.build([*body.numbers, number], positions)


def _ignored(points: Sequence[Point], sizes: Sequence[int]) -> str:
    """Why the atoms of a species are as if they were not there; empty if they are not, or if nothing proves it."""
    if not sizes:
        if not all(p.ok for p in points):
            return ""
        forces = max(float(np.abs(p.forces[-1]).max()) for p in points)
        still = abs(points[1].energy - points[0].energy) < SILENT_ENERGY
        what = "there is no force on it" if forces < SILENT_FORCE else "the energy does not depend on its place"
        return f"answered although it is not claimed, but {what}" if still or forces < SILENT_FORCE else ""
    pairs = [p for p, size in zip(points, [*sizes, 2], strict=False) if size == 2 and p.ok]
    proven = len(points) > len(sizes) and points[-1].ok
    return f"its atoms are ignored: {silence(pairs)}" if proven and silence(pairs) else ""
