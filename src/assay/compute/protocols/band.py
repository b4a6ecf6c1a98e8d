"""Nudged elastic band: the ends are relaxed, then a path between them relaxes to the minimum-energy path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.compute.protocols import Ending, Requests, side_by_side
from assay.compute.protocols.band_path import band_forces, image_vectors, interpolated, superposed_path
from assay.compute.protocols.minimisers import largest_norm, make_minimiser
from assay.compute.protocols.relaxation import Descent, after_steps, descend, explosion
from assay.errors import AssayError, Cause
from assay.jobs import Band, Relaxation
from assay.outcome import FAILED, OK
from assay.structure import Floats, Structure

VACUUM = 8.0
"""A molecule in a periodic box may rotate freely if its periodic images are at least this far (Å) away."""


@dataclass(frozen=True)
class BandState:
    """The band at its last evaluation; `energies` is empty before the first one."""

    path: Floats
    energies: Floats
    max_force: float
    steps: int
    converged: bool = False
    reason: str = ""
    cause: str = Cause.NONE

    def values(self, ends: Sequence[Descent]) -> dict[str, object]:
        """The stored values of the band; empty without an evaluation."""
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


def run_band(job: Band) -> Requests[Ending]:
    """The path between two structures. A band that did not converge is no failure here; the benchmark judges it."""
    _require_same_atoms(job)
    ends = yield from side_by_side([descend(end, _relaxed(job, end)) for end in (job.start, job.end)])
    for name, end in zip(("start", "end"), ends, strict=True):
        if end.reason:
            return Ending(FAILED, {}, f"the {name} of the band, {end.reason}", end.cause)
    band = yield from _optimise(job, ends)
    return Ending(FAILED if band.reason else OK, band.values(ends), band.reason, band.cause)


def _require_same_atoms(job: Band) -> None:
    """`AssayError` if the band has too few images or its structures differ in their atoms or the order of atoms."""
    if any(not np.array_equal(other.numbers, job.start.numbers) for other in (job.end, job.through) if other):
        raise AssayError("the structures of a band do not have the same atoms in the same order; reorder them")
    fewest = 3 if job.through is None else 5
    if job.images < fewest:
        raise AssayError(f"a band of {job.images} images is too short; use {fewest} or more")


def _relaxed(job: Band, end: Structure) -> Relaxation:
    """The relaxation of an end of the band; without `relax_ends` it is only evaluated."""
    return Relaxation(end, "bfgs", job.ends_limit, job.ends_steps if job.relax_ends else 0)


def rotates_freely(structure: Structure) -> bool:
    """True for a molecule, isolated or with vacuum around it in a periodic box: a rotation does not change it."""
    if not any(structure.pbc):
        return True
    if not all(structure.pbc):
        return False
    heights = 1.0 / np.linalg.norm(np.linalg.inv(structure.cell), axis=0)
    spans = np.ptp(structure.positions @ np.linalg.inv(structure.cell), axis=0) * heights
    return bool((heights - spans >= VACUUM).all())


def first_path(start: Structure, end: Structure, job: Band) -> Floats:
    """The path on which the band starts, from end to end, or in two parts that meet at `through`."""
    stops = np.array([stop.positions for stop in (start, job.through, end) if stop is not None])
    free = rotates_freely(start)
    stops = superposed_path(stops) if free else stops
    if job.through is None:
        return interpolated(stops[0], stops[1], job.images, start, free)
    middle = job.images // 2
    first = interpolated(stops[0], stops[1], middle + 1, start)
    second = interpolated(stops[1], stops[2], job.images - middle, start)
    return np.concatenate([first, second[1:]])


def _optimise(job: Band, ends: Sequence[Descent]) -> Requests[BandState]:
    """Move the band until its forces are small, all steps are used, or a problem stops it."""
    frame, minimiser = ends[0].structure, make_minimiser(job.optimizer, job.max_step)
    free = rotates_freely(frame)
    start = path = first_path(frame, ends[1].structure, job)
    band, climbing = BandState(path, np.zeros(0), np.inf, 0), False
    for steps in range(job.steps + 1):
        path = superposed_path(path) if free else path
        points = yield [frame.moved(image) for image in path[1:-1]]
        if refused := next((point for point in points if not point.ok), None):
            return replace(band, reason=after_steps(steps, refused.reason), cause=refused.cause)
        energies = np.array([ends[0].energies[-1], *(point.energy for point in points), ends[1].energies[-1]])
        model_forces = np.array([point.forces for point in points])
        inputs = image_vectors(path, frame), energies, model_forces, job.spring
        climbing = climbing or largest_norm(band_forces(*inputs, False)) < max(job.climb_below, job.force_limit)
        forces = band_forces(*inputs, climbing)
        largest = largest_norm(forces)
        problem = after_steps(steps, explosion(path - start, model_forces))
        cause = Cause.EXPLODED if problem else Cause.NONE
        band = BandState(path, energies, largest, steps, climbing and largest < job.force_limit, problem, cause)
        if band.converged or problem:
            break
        path = np.concatenate([path[:1], minimiser.step(path[1:-1], forces), path[-1:]])
    return band
