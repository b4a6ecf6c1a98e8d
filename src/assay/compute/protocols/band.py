"""A nudged elastic band: ends are relaxed, a path is laid between them and pulled down into the valley and its pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.compute.protocols import Asking, Ending, side_by_side
from assay.compute.protocols.band_path import band_forces, gaps, interpolated, superposed_path
from assay.compute.protocols.minimisers import largest_norm, make_minimiser
from assay.compute.protocols.relaxation import Descent, after, descend, exploded
from assay.errors import AssayError, Cause
from assay.jobs import Band, Relaxation
from assay.outcome import FAILED, OK
from assay.structure import Floats, Structure

VACUUM = 8.0
"""So many Å between a molecule and its periodic images, and it may turn."""


@dataclass(frozen=True)
class Stretch:
    """A band as it was last evaluated; without energies if it never was."""

    path: Floats
    energies: Floats
    max_force: float
    steps: int
    converged: bool = False
    reason: str = ""
    cause: str = Cause.NONE

    def values(self, ends: Sequence[Descent]) -> dict[str, object]:
        """What is kept of the band."""
        if not self.energies.size:
            return {}
        top = int(np.argmax(self.energies))
        return {
            "natoms": self.path.shape[1],
            "positions": self.path,
            "energies": self.energies,
            "max_force": self.max_force,
            "converged": self.converged,
            "steps": self.steps,
            "top": top,
            "barrier": float(self.energies[top] - self.energies[0]),
            "reaction_energy": float(self.energies[-1] - self.energies[0]),
            "ends_converged": [end.converged for end in ends],
            "ends_steps": [len(end.energies) - 1 for end in ends],
        }


def run_band(job: Band) -> Asking[Ending]:
    """The path between two structures. That it did not converge is for the benchmark to judge, not a failure here."""
    _require_same_atoms(job)
    ends = yield from side_by_side([descend(end, _relaxed(job, end)) for end in (job.start, job.end)])
    for name, end in zip(("start", "end"), ends, strict=True):
        if end.reason:
            return Ending(FAILED, {}, f"the {name} of the band, {end.reason}", end.cause)
    stretch = yield from _pull(job, ends)
    return Ending(FAILED if stretch.reason else OK, stretch.values(ends), stretch.reason, stretch.cause)


def _require_same_atoms(job: Band) -> None:
    """`AssayError` unless the band is long enough and between structures of the same atoms in the same order."""
    if any(not np.array_equal(other.numbers, job.start.numbers) for other in (job.end, job.through) if other):
        raise AssayError("the structures of a band are not the same atoms in the same order; reorder them")
    fewest = 3 if job.through is None else 5
    if job.images < fewest:
        raise AssayError(f"a band of {job.images} images is too short; take {fewest} or more")


def _relaxed(job: Band, end: Structure) -> Relaxation:
    """How an end is relaxed; without steps it is only evaluated."""
    return Relaxation(end, "bfgs", job.ends_limit, job.ends_steps if job.relax_ends else 0)


def turns_freely(structure: Structure) -> bool:
    """True for molecules, in the open or with vacuum around them in a periodic box: turning them changes nothing."""
    if not any(structure.pbc):
        return True
    if not all(structure.pbc):
        return False
    heights = 1.0 / np.linalg.norm(np.linalg.inv(structure.cell), axis=0)
    spans = np.ptp(structure.positions @ np.linalg.inv(structure.cell), axis=0) * heights
    return bool((heights - spans >= VACUUM).all())


def first_path(start: Structure, end: Structure, job: Band) -> Floats:
    """The path on which the band starts, from end to end or in two parts that meet in `through`."""
    stops = np.array([stop.positions for stop in (start, job.through, end) if stop is not None])
    if turns_freely(start):
        stops = superposed_path(stops)
    if job.through is None:
        return interpolated(stops[0], stops[1], job.images, start)
    middle = job.images // 2
    there = interpolated(stops[0], stops[1], middle + 1, start)
    on = interpolated(stops[1], stops[2], job.images - middle, start)
    return np.concatenate([there, on[1:]])


def _pull(job: Band, ends: Sequence[Descent]) -> Asking[Stretch]:
    """Move the band until its forces are small, its steps are used up, or it goes wrong."""
    frame, minimiser = ends[0].structure, make_minimiser(job.optimizer, job.max_step)
    free = turns_freely(frame)
    start = path = first_path(frame, ends[1].structure, job)
    band, climbing = Stretch(path, np.zeros(0), np.inf, 0), False
    for steps in range(job.steps + 1):
        path = superposed_path(path) if free else path
        points = yield [frame.moved(image) for image in path[1:-1]]
        if refused := next((point for point in points if not point.ok), None):
            return replace(band, reason=after(steps, refused.reason), cause=refused.cause)
        energies = np.array([ends[0].energies[-1], *(point.energy for point in points), ends[1].energies[-1]])
        known = gaps(path, frame), energies, np.array([point.forces for point in points]), job.spring
        climbing = climbing or largest_norm(band_forces(*known, False)) < max(job.climb_below, job.force_limit)
        pull = band_forces(*known, climbing)
        largest = largest_norm(pull)
        trouble = after(steps, exploded(path - start, known[2]))
        cause = Cause.EXPLODED if trouble else Cause.NONE
        band = Stretch(path, energies, largest, steps, climbing and largest < job.force_limit, trouble, cause)
        if band.converged or trouble:
            break
        path = np.concatenate([path[:1], minimiser.step(path[1:-1], pull), path[-1:]])
    return band
