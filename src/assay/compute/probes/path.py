"""Where do energy or forces jump when one atom moves along a straight path?

The path is first evaluated in coarse steps. For each interval, the midpoint is compared with a smooth curve through the
ends; the interval with the largest difference is halved repeatedly. The difference decreases with the width of the
interval for a smooth surface, but not at a jump. Afterwards, steps of the energy that are smooth but narrower than what
an atom travels in one step of a simulation are looked for among all evaluated places.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable

import numpy as np

from assay.analysis.hydrogens import nearest_images
from assay.analysis.steps import WIDTH, is_narrow, missing_work, steps_within
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes._lookahead import BatchesDiffer, Lookahead
from assay.compute.probes._places import (
    ENERGY_ULPS,
    RELATIVE,
    RELATIVE_ENERGY,
    Place,
    barrier_height,
    curve_of,
    forces_match_energy,
    jump_between,
    roughness_of,
    well_depth,
    with_rounding,
)
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

NARROWEST = 1e-6
"""An interval of this width (Å) that is not smooth is a jump."""

APART = 1e-3
"""Jumps closer to each other than this (Å) count as one."""

AT_ONCE = 15
"""Rough intervals, besides the roughest one, whose halves are computed in the same batch."""

ENOUGH = 5
"""The search ends after this number of jumps."""

RESERVE = 200
"""Evaluations that are always available for halving intervals, about five times the number for one jump."""

REFUSAL_COST = 60
"""A refusal counts as this number of evaluations, because a model that does not converge takes long to refuse."""

INNER_REFUSALS, OUTER_REFUSALS = 12, 3
"""The path ends after this number of refusals in a row: before the first accepted point, because models often refuse
atoms that are too close, and after it."""


CHANGED = 1e-9
"""Forces (eV/Å) that change by less than this do not tell which atoms cross a distance."""


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Energy curve and jumps along the path of one atom in direction (x, y, z), from `start` to `end` (Å).

    With `far` the path goes on to that position in steps of `far_step` (Å). With `barrier` it is a path over a barrier,
    whose height is the scale of energies, instead of a path out of a well.
    """
    names = ("atom", "x", "y", "z", "start", "end", "step", "budget", "epsilon")
    settings = {name: probe.settings[name] for name in names}
    settings |= {name: probe.settings.get(name, 0.0) for name in ("far", "far_step", "barrier")}
    numbers = {k: float(v) for k, v in settings.items()}
    limits = float(probe.settings["energy_limit"]), float(probe.settings["force_limit"])
    if engine.model.build_batch is None:
        return _Path(engine, probe.structures[0], numbers).report(*limits)
    try:
        path = _Path(engine, probe.structures[0], numbers, batches=True)
        return {**path.report(*limits), "batch": path.batch_report()}
    except BatchesDiffer as error:
        path = _Path(engine, probe.structures[0], numbers)
        path.why_alone = str(error)
        return {**path.report(*limits), "batch": path.batch_report()}


class _Path:
    """The path of one atom, and the number of evaluations that are left for it."""

    def __init__(
        self, engine: CalculatorEngine, structure: Structure, settings: dict[str, float], batches: bool = False
    ) -> None:
        self.engine, self.structure, self.batches = engine, structure, batches
        self.ahead: Lookahead | None = None
        self.why_alone = ""
        self.atom = int(settings["atom"])
        self.direction = np.array([settings["x"], settings["y"], settings["z"]])
        self.start, self.end, self.step = settings["start"], settings["end"], settings["step"]
        self.budget = int(settings["budget"])
        self.epsilon = settings["epsilon"]
        self.far, self.far_step = settings["far"], settings["far_step"]
        self.barrier = bool(settings["barrier"])
        self.refused: list[str] = []
        self.seen: list[Place] = []

    def place(self, at: float) -> Place | None:
        """The model at one position (Å) on the path; None if it refuses that position."""
        self.budget -= 1
        try:
            point = self.engine.evaluate(self.structure_at(at)) if self.ahead is None else self.ahead.point(at)
        except ModelFailure as failure:
            self.refused.append(str(failure))
            self.budget -= REFUSAL_COST
            return None
        self.seen.append(Place(at, point.energy, float(point.forces[self.atom] @ self.direction), point.forces))
        return self.seen[-1]

    def structure_at(self, at: float) -> Structure:
        """The structure at one position (Å) on the path."""
        positions = self.structure.positions.copy()
        positions[self.atom] += at * self.direction
        return self.structure.moved(positions)

    def batch_report(self) -> dict[str, object]:
        """How many places are from batches, and why none are; for the remarks about a run."""
        together = 0 if self.ahead is None else len(self.ahead.points)
        why = {"why_alone": self.why_alone, "given_up": self.why_alone} if self.why_alone else {}
        return {"structures": together, "alone": len(self.seen) if self.ahead is None else self.ahead.coarse, **why}

    def _from_batches(self, coarse: list[Place]) -> list[Place]:
        """The same places from batches, if these agree with the calculator; then all later places are from batches.

        One curve must not have places from both, because each rounds in its own way.
        """
        if not self.batches or self.refused:
            return coarse
        ahead, places = Lookahead(self.engine, self.structure_at), [place.at for place in coarse]
        self.why_alone = ahead.difference(places, [Point(place.energy, place.forces) for place in coarse])
        if self.why_alone:
            return coarse
        self.ahead, self.seen, self.budget = ahead, [], self.budget + len(coarse)
        return [place for at in places if (place := self.place(at)) is not None]

    def _fetch(self, intervals: Iterable[tuple[Place, Place]]) -> None:
        """Compute the midpoints of intervals in one batch, if places are from batches."""
        if self.ahead is not None:
            self.ahead.fetch([0.5 * (a.at + b.at) for a, b in intervals])

    def report(self, energy_limit: float, force_limit: float) -> dict[str, object]:
        """Curve, jumps and refusals; the limits of smoothness are relative to the depth of the well."""
        coarse = self._coarse()
        if len(coarse) < 3:
            reason = self.refused[0] if self.refused else "it is too short"
            raise ModelFailure(f"the path has fewer than three points: {reason}")
        coarse = self._from_batches(coarse)
        well = barrier_height(coarse) if self.barrier else well_depth(coarse)
        jumps, roughness, unchecked = self._narrow(coarse, energy_limit * well, force_limit * well)
        steps = self._narrow_steps(energy_limit * well, jumps) if forces_match_energy(coarse) else []
        if self.ahead is not None:
            self.ahead.confirm()
        return {
            "at": np.array([p.at for p in coarse]),
            "energy": np.array([p.energy for p in coarse]),
            "force": np.array([p.along for p in coarse]),
            "well": well,
            "jumps": jumps,
            "steps": steps,
            "roughness": roughness,
            "unseen": unchecked,
            "evaluated": len(coarse),
            "refused": len(self.refused),
            "reason": self.refused[0] if self.refused else "",
        }

    def _coarse(self) -> list[Place]:
        """Points from the inner end outwards; the path ends if the model refuses several points in a row."""
        steps = max(2, round((self.end - self.start) / self.step))
        stations = [*np.linspace(self.start, self.end, steps + 1)]
        if self.far > self.end:
            stations += list(np.arange(self.end + self.far_step, self.far + 1e-9, self.far_step))
        places: list[Place] = []
        in_a_row = 0
        for at in stations:
            place = self.place(float(at))
            in_a_row = 0 if place is not None else in_a_row + 1
            if place is not None:
                places.append(place)
            elif in_a_row >= (OUTER_REFUSALS if places else INNER_REFUSALS):
                break
        return places

    def _narrow(self, coarse: list[Place], energy_limit: float, force_limit: float) -> tuple[list[dict], float, float]:
        """Halve the roughest intervals until all are smooth or so narrow that they are jumps.

        Returns the jumps, the largest remaining roughness (in units of the limits) if the evaluations did not suffice,
        and the width (Å) of the widest interval whose midpoint the model refused.
        """
        queue: list[tuple[float, int, Place, Place, Place]] = []
        ticket = itertools.count()  # decides between equal entries, because places cannot be ordered

        def push(a: Place, b: Place) -> bool:
            middle = self.place(0.5 * (a.at + b.at))
            if middle is not None:
                limits = with_rounding(a, b, energy_limit, force_limit, self.epsilon)
                heapq.heappush(queue, (-roughness_of(a, middle, b, *limits, relative), next(ticket), a, middle, b))
            return middle is not None

        relative = RELATIVE_ENERGY if forces_match_energy(coarse) else RELATIVE
        jumps: list[dict] = []
        unchecked, roughness = 0.0, 0.0
        self._fetch(itertools.pairwise(coarse))
        for a, b in itertools.pairwise(coarse):
            if not push(a, b) and a.at < self.end:  # atoms far apart may be refused, as by models of electrons
                unchecked = max(unchecked, b.at - a.at)
        self.budget = max(self.budget, RESERVE)  # refusals may have used it, but rough intervals are always halved
        while queue and -queue[0][0] > 1.0 and len(jumps) < ENOUGH:
            negative_roughness, _, a, middle, b = heapq.heappop(queue)
            width = b.at - a.at
            if width < APART and any(a.at - APART < jump["at"] < b.at + APART for jump in jumps):
                continue
            if width <= NARROWEST:
                halves = [{**jump_between(*ends), **self._crossing(*ends)} for ends in ((a, middle), (middle, b))]
                jumps.append(max(halves, key=lambda jump: jump["energy"] + jump["force"]))
            elif self.budget <= 0:
                roughness = max(roughness, -negative_roughness)
            else:
                self._fetch(_halves([(a, middle, b), *_rough(queue)]))
                if not all([push(a, middle), push(middle, b)]) and a.at < self.end:
                    unchecked = max(unchecked, width)
        return jumps, roughness, unchecked

    def _narrow_steps(self, least: float, jumps: list[dict]) -> list[dict]:
        """Steps of the energy that are narrower than `WIDTH` but not jumps, with the places around them."""
        curve = curve_of(sorted(self.seen, key=lambda p: p.at))
        rounding = 2.0 * ENERGY_ULPS * self.epsilon * float(np.abs(curve[1]).max())
        found = []
        for centre, width in steps_within(*curve, least + rounding)[:ENOUGH]:
            if any(abs(jump["at"] - centre) < WIDTH for jump in jumps):
                continue
            across = self._missing_work(centre, WIDTH), self._missing_work(centre, 2.0 * WIDTH)
            if is_narrow(across):
                step = {"at": centre, "energy": abs(across[0]), "width": width, "rounding": rounding}
                outside, inside = self.place(centre - WIDTH), self.place(centre)
                found.append(step if outside is None or inside is None else step | self._crossing(outside, inside))
        return found

    def _crossing(self, a: Place, b: Place) -> dict[str, object]:
        """Which two atoms cross a distance (Å) between two places: the moved one and that whose force changes most.

        Of a crystal, and where no force changes, the nearest atom is named instead, with `crosses` false.
        """
        structure = self.structure
        vectors = structure.positions - structure.positions[self.atom] - 0.5 * (a.at + b.at) * self.direction
        if any(structure.pbc):
            vectors = nearest_images(vectors, structure.cell)
        distances, changes = np.linalg.norm(vectors, axis=1), np.linalg.norm(b.forces - a.forces, axis=1)
        distances[self.atom], changes[self.atom] = np.inf, 0.0
        crosses = not any(structure.pbc) and bool(changes.max() > CHANGED)
        other = int(np.argmax(changes) if crosses else np.argmin(distances))
        numbers = [int(structure.numbers[i]) for i in (self.atom, other)]
        return {"distance": float(distances[other]), "pair": sorted(numbers), "crosses": crosses}

    def _missing_work(self, centre: float, width: float) -> float:
        """The change of energy (eV) across an interval (Å) that its forces do not explain; NaN where it is refused."""
        a, b = self.place(centre - 0.5 * width), self.place(centre + 0.5 * width)
        if a is None or b is None:
            return float("nan")
        return missing_work((a.energy, b.energy), (a.along, b.along), width)


def _rough(queue: list[tuple[float, int, Place, Place, Place]]) -> Iterable[tuple[Place, Place, Place]]:
    """The intervals in a queue that must be halved next, with their midpoints."""
    return [row[2:] for row in heapq.nsmallest(AT_ONCE, queue) if -row[0] > 1.0 and row[4].at - row[2].at > NARROWEST]


def _halves(intervals: Iterable[tuple[Place, Place, Place]]) -> list[tuple[Place, Place]]:
    return [half for a, middle, b in intervals for half in ((a, middle), (middle, b))]
