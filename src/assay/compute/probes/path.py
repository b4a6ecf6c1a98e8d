"""Along a straight path of one atom: where do energy or forces jump?

The path is first walked in coarse steps. Each interval is judged by how far its midpoint lies from what a smooth curve
would give; the worst interval is halved again and again. A smooth surface becomes smooth at some width, a jump stays.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.structure import Floats, Structure

NARROWEST = 1e-6
"""Width (Å) at which an interval that is still not smooth is called a jump."""

APART = 1e-3
"""Jumps closer together (Å) than this count as one."""

ENOUGH = 5
"""So many jumps settle the matter."""

RESERVE = 200
"""Evaluations that are always left for following rough intervals down, about five times what one jump takes."""

REFUSAL_COST = 60
"""A refusal counts as so many evaluations: models that iterate until they give up take long to refuse."""

INNER_REFUSALS, OUTER_REFUSALS = 12, 3
"""How often in a row a model may refuse before the walk ends: close atoms are often refused, far ones should not be."""

RELATIVE = 1e-3
"""A change of the force smaller than this fraction of the force itself is not looked into, so steep walls are cheap."""

ENERGY_ULPS, FORCE_ULPS = 4.0, 64.0
"""Rounding of energies, and of forces, which are sums of larger parts, in units of the precision of the model."""

RELATIVE_ENERGY = 3e-5
"""The same for a change of the energy, relative to the work that the force does over the width."""


@dataclass(frozen=True)
class Place:
    """Energy (eV), force along the path and all forces (eV/Å) at one place (Å) of the path."""

    at: float
    energy: float
    along: float
    forces: Floats


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Curve and jumps along the path of one atom of the structure in direction (x, y, z), from `start` to `end`."""
    names = ("atom", "x", "y", "z", "start", "end", "step", "budget", "epsilon")
    settings = {name: probe.settings[name] for name in names}
    walk = _Walk(engine, probe.structures[0], {k: float(v) for k, v in settings.items()})
    limits = float(probe.settings["energy_limit"]), float(probe.settings["force_limit"])
    return walk.report(*limits)


class _Walk:
    def __init__(self, engine: CalculatorEngine, structure: Structure, settings: dict[str, float]) -> None:
        self.engine, self.structure = engine, structure
        self.atom = int(settings["atom"])
        self.direction = np.array([settings["x"], settings["y"], settings["z"]])
        self.start, self.end, self.step = settings["start"], settings["end"], settings["step"]
        self.budget = int(settings["budget"])
        self.epsilon = settings["epsilon"]
        self.refused: list[str] = []

    def place(self, at: float) -> Place | None:
        positions = self.structure.positions.copy()
        positions[self.atom] += at * self.direction
        self.budget -= 1
        try:
            point = self.engine.evaluate(self.structure.moved(positions))
        except ModelFailure as failure:
            self.refused.append(str(failure))
            self.budget -= REFUSAL_COST
            return None
        return Place(at, point.energy, float(point.forces[self.atom] @ self.direction), point.forces)

    def report(self, energy_limit: float, force_limit: float) -> dict[str, object]:
        coarse = self._coarse()
        if len(coarse) < 3:
            raise ModelFailure(f"the path could not be walked: {self.refused[0] if self.refused else 'too short'}")
        well = _well_depth(coarse)
        jumps, roughness, unseen = self._narrow(coarse, energy_limit * well, force_limit * well)
        return {
            "at": np.array([p.at for p in coarse]),
            "energy": np.array([p.energy for p in coarse]),
            "force": np.array([p.along for p in coarse]),
            "well": well,
            "jumps": jumps,
            "roughness": roughness,
            "unseen": unseen,
            "evaluated": len(coarse),
            "refused": len(self.refused),
            "reason": self.refused[0] if self.refused else "",
        }

    def _coarse(self) -> list[Place]:
        """From the inner end outwards; the walk ends where the model has refused several places in a row."""
        steps = max(2, round((self.end - self.start) / self.step))
        found: list[Place] = []
        in_a_row = 0
        for at in np.linspace(self.start, self.end, steps + 1):
            place = self.place(float(at))
            in_a_row = 0 if place is not None else in_a_row + 1
            if place is not None:
                found.append(place)
            elif in_a_row >= (OUTER_REFUSALS if found else INNER_REFUSALS):
                break
        return found

    def _narrow(self, coarse: list[Place], energy_limit: float, force_limit: float) -> tuple[list[dict], float, float]:
        """Halve the worst intervals until all are smooth, or so narrow that what is left is a jump.

        Returns the jumps, the roughness (in units of the limits) that was left when the evaluations were used up, and
        the width (Å) of the widest interval whose middle the model refused.
        """
        queue: list[tuple[float, int, Place, Place, Place]] = []
        ticket = itertools.count()  # breaks ties, since places cannot be ordered

        def push(a: Place, b: Place) -> bool:
            middle = self.place(0.5 * (a.at + b.at))
            if middle is not None:
                limits = _with_rounding(a, b, energy_limit, force_limit, self.epsilon)
                worth = _roughness(a, middle, b, *limits, relative)
                heapq.heappush(queue, (-worth, next(ticket), a, middle, b))
            return middle is not None

        relative = RELATIVE_ENERGY if _forces_do_the_work(coarse) else RELATIVE
        jumps: list[dict] = []
        unseen, roughness = 0.0, 0.0
        for a, b in itertools.pairwise(coarse):
            if not push(a, b):
                unseen = max(unseen, b.at - a.at)
        self.budget = max(self.budget, RESERVE)  # refusals may have used it up, but rough places are always followed
        while queue and -queue[0][0] > 1.0 and len(jumps) < ENOUGH:
            worth, _, a, middle, b = heapq.heappop(queue)
            width = b.at - a.at
            if width < APART and any(a.at - APART < jump["at"] < b.at + APART for jump in jumps):
                continue
            if width <= NARROWEST:
                jumps.append(max(_jump(a, middle), _jump(middle, b), key=lambda jump: jump["energy"] + jump["force"]))
            elif self.budget <= 0:
                roughness = max(roughness, -worth)
            elif not all([push(a, middle), push(middle, b)]):
                unseen = max(unseen, width)
        return jumps, roughness, unseen


def _well_depth(places: list[Place]) -> float:
    """How deep the curve dips below its far end, at most 1 eV; for a repulsive curve, its size at the middle."""
    far = places[-1].energy
    depth = max(far - min(p.energy for p in places), 0.0)
    if depth <= 0.0:
        depth = abs(places[len(places) // 3].energy - far)
    return float(np.clip(depth, 1e-6, 1.0))


def _forces_do_the_work(places: list[Place]) -> bool:
    """True when the energy changes along the path as the forces say; only then do they help to find jumps in it."""
    energy, along, at = (np.array([getattr(p, name) for p in places]) for name in ("energy", "along", "at"))
    changes, work = np.diff(energy), 0.5 * (along[1:] + along[:-1]) * np.diff(at)
    moving = np.abs(changes) > 1e-6
    return bool(moving.any() and np.median(np.abs(changes + work)[moving] / np.abs(changes)[moving]) < 0.2)


def _with_rounding(a: Place, b: Place, energy: float, force: float, epsilon: float) -> tuple[float, float]:
    """Limits of energy (eV) and force (eV/Å) plus what rounding does: what is lost in it is not worth following."""
    size = max(np.abs(a.forces).max(), np.abs(b.forces).max())
    return energy + ENERGY_ULPS * epsilon * abs(a.energy), force + FORCE_ULPS * epsilon * (1.0 + float(size))


def _roughness(a: Place, middle: Place, b: Place, energy_limit: float, force_limit: float, relative: float) -> float:
    """How far the midpoint lies from a smooth curve through the ends, in units of the limits."""
    width = b.at - a.at
    expected = 0.5 * (a.energy + b.energy) + width / 8.0 * (b.along - a.along)
    size = max(np.abs(a.forces).max(), np.abs(b.forces).max())
    work = max(size * width, abs(b.energy - a.energy))  # energies count too, lest a model without forces look rough
    energy = abs(middle.energy - expected) / (energy_limit + relative * work)
    forces = np.abs(middle.forces - 0.5 * (a.forces + b.forces)).max() / (force_limit + RELATIVE * size)
    return float(max(energy, forces))


def _jump(a: Place, b: Place) -> dict[str, float]:
    """Size of the jump of energy (eV) and force (eV/Å), with what a smooth curve does over this width taken off."""
    smooth = 0.5 * (b.at - a.at) * (abs(a.along) + abs(b.along))
    return {
        "at": 0.5 * (a.at + b.at),
        "energy": max(0.0, abs(b.energy - a.energy) - smooth),
        "force": float(np.abs(b.forces - a.forces).max()),
        "size": float(max(np.abs(a.forces).max(), np.abs(b.forces).max())),
    }
