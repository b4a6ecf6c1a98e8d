"""Paths of one atom along a straight line, on which the probe `path` looks for jumps of energy and forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.limits import EPSILON
from assay.configurations import symbol
from assay.jobs import Data, Probe
from assay.structure import Floats, Structure
from assay.survey import Survey

ENERGY_JUMP, FORCE_JUMP = 1e-4, 1e-3
"""The largest jumps that pass, as a fraction of the well depth, and per Å."""

BOXED_END = 8.0
"""Paths of models that support only periodic systems end here (Å), before the atom meets an image of the others."""


@dataclass(frozen=True)
class Path:
    """The path of one atom (Å), away from the others unless a direction is given.

    Jumps are looked for down to `finer` times what passes. `settings` are further ones of the probe.
    """

    name: str
    body: Structure
    atom: int
    start: float
    end: float
    step: float
    budget: int
    direction: Floats | None = None
    finer: float = 1e-2
    settings: Data | None = None

    def case(self, survey: Survey) -> Case:
        """The case of this path; for two atoms, its context has their names and their first distance (Å)."""
        x, y, z = (float(v) for v in self._direction())
        limits = {"energy_limit": (ENERGY_JUMP, survey.noise_energy), "force_limit": (FORCE_JUMP, survey.noise_force)}
        settings = {
            "atom": self.atom, "x": x, "y": y, "z": z, "start": self.start, "step": self.step, "budget": self.budget,
            "end": self.end if "FFF" in survey.pbc else min(self.end, BOXED_END),
            **{name: max(self.finer * limit, 20.0 * noise) for name, (limit, noise) in limits.items()},
            "epsilon": EPSILON[survey.precision],
            **(self.settings or {}),
        }  # fmt: skip
        placed = self.body if any(self.body.pbc) else survey.placed(self.body)
        context: dict[str, object] = {"finer": self.finer}
        if len(self.body) == 2:
            apart = float(np.linalg.norm(self.body.positions[1] - self.body.positions[0]))
            context |= {"pair": self.name.replace("-", "–"), "start": apart}
        expected, coarse = self.budget // 2, round((self.end - self.start) / self.step)
        probe = Probe("path", (placed,), settings, expected, from_batches=max(expected - coarse, 0))
        return Case(self.name, {"path": probe}, context)

    def _direction(self) -> Floats:
        if self.direction is not None:
            return self.direction
        others = np.delete(self.body.positions, self.atom, axis=0)
        ray = self.body.positions[self.atom] - others.mean(axis=0)
        return np.asarray(ray / np.linalg.norm(ray))


def place_on_path(case: Case, jump: Data) -> str:
    """Where a jump lies, by a distance that a user can look up: of two atoms, or to the nearest atom."""
    if "pair" in case.context:
        return f"at {_article(case.context['pair'])} distance of {case.context['start'] + jump['at']:.3f} Å"
    if "pair" not in jump:  # results of earlier versions
        return f"{jump['at']:.3f} Å along the path {case.id}"
    pair = "–".join(symbol(int(z)) for z in jump["pair"])
    if jump["crosses"]:
        return f"at {_article(pair)} distance of {jump['distance']:.3f} Å"
    return f"where the shortest distance of the moved atom is {_article(pair)} distance of {jump['distance']:.3f} Å"


def _article(pair: str) -> str:
    """A pair of elements with its article, as one says it: "a Cu–Cu", "an Al–Al"."""
    return f"{'an' if pair[0] in 'AEFHILMNORSX' else 'a'} {pair}"
