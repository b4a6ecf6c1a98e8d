"""Places on a path from batches, once the calculator has shown at every coarse place that the batch is equal to it.

A jump of the calculator that the batch does not have makes them differ on one side of it, and there are coarse places
on both sides. So the batch may look for jumps in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.pool import Pool
from assay.compute.engines.sampled import disagreement, points_in_batches, rounds_to_single
from assay.errors import ModelFailure
from assay.outcome import Point
from assay.structure import Structure

CONFIRMED = 8
"""Places between the coarse ones that the calculator computes too, half of them the last and closest ones."""


class BatchesDiffer(Exception):
    """The batch evaluator fails, or differs from the calculator, in the middle of a path."""


class Lookahead:
    """Points of a path from the batch evaluator of a model, by their position (Å)."""

    def __init__(self, engine: CalculatorEngine, structure_at: Callable[[float], Structure]) -> None:
        self.engine, self.structure_at = engine, structure_at
        self.pool = Pool(engine)
        self.points: dict[float, Point] = {}
        self.coarse = 0
        self.rounded = False

    def difference(self, places: Sequence[float], alone: Sequence[Point]) -> str:
        """How the batch differs from points of the calculator at these places; empty if only by rounding."""
        self.rounded = rounds_to_single(alone)
        try:
            self.fetch(places)
        except BatchesDiffer as error:
            return str(error)
        self.coarse = len(self.points)
        return self._difference(places, alone)

    def _difference(self, places: Sequence[float], alone: Sequence[Point]) -> str:
        together, last = [self.points[at] for at in places], len(places) - 1
        return disagreement(dict(enumerate(alone)), together, last, self.engine.used.get("precision", ""))

    def fetch(self, places: Iterable[float]) -> None:
        """Compute places that are not known yet, in batches."""
        new = [at for at in dict.fromkeys(places) if at not in self.points]
        points, reason = points_in_batches(self.pool, [self.structure_at(at) for at in new])
        if reason:
            raise BatchesDiffer(reason)
        for at, point in zip(new, points, strict=True):
            self.points[at] = replace(point, energy=float(np.float32(point.energy))) if self.rounded else point

    def point(self, at: float) -> Point:
        """The point at one place."""
        self.fetch([at])
        return self.points[at]

    def confirm(self) -> None:
        """Ask the calculator for some of the places in between; `BatchesDiffer` if it does not agree."""
        between = list(self.points)[self.coarse :]
        spread = np.linspace(0, len(between) - 1, CONFIRMED - CONFIRMED // 2).astype(int).tolist() if between else []
        chosen = list(dict.fromkeys([*(between[i] for i in spread), *between[-(CONFIRMED // 2) :]]))
        try:
            alone = [self.engine.evaluate(self.structure_at(at)) for at in chosen]
        except ModelFailure as failure:
            raise BatchesDiffer(f"the calculator does not answer where the batch does: {failure}") from failure
        if alone and (why := self._difference(chosen, alone)):
            raise BatchesDiffer(why)
