"""Relaxation: the energy is minimised until the forces are small, all steps are used, or a problem stops it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.compute.protocols import Ending, Requests
from assay.compute.protocols.minimisers import largest_norm, make_minimiser
from assay.errors import Cause
from assay.jobs import Relaxation
from assay.outcome import FAILED, OK, Point
from assay.structure import Floats, Structure

TOO_FAR = 20.0
"""A structure has exploded if an atom has moved further than this (Å) from its start."""

TOO_STRONG = 1e6
"""A structure has exploded if a force is larger than this (eV/Å)."""


@dataclass(frozen=True)
class Descent:
    """The end of a minimisation: the last structure that the model evaluated, with its result."""

    structure: Structure
    point: Point | None
    energies: Sequence[float]
    converged: bool = False
    reason: str = ""
    cause: str = Cause.NONE

    @property
    def values(self) -> dict[str, object]:
        """The stored values; empty if the model refused the first structure."""
        if self.point is None:
            return {}
        return {
            "natoms": len(self.structure),
            "positions": self.structure.positions,
            "energy": self.point.energy,
            "forces": self.point.forces,
            "max_force": largest_norm(self.point.forces),
            "steps": len(self.energies) - 1,
            "converged": self.converged,
            "energies": np.array(self.energies, dtype=float),
            "start_energy": self.energies[0],
        }


def run_relaxation(job: Relaxation) -> Requests[Ending]:
    """Minimise the energy of one structure. No convergence is not a failure here; the benchmark judges it."""
    descent = yield from descend(job.structure, job)
    return Ending(FAILED if descent.reason else OK, descent.values, descent.reason, descent.cause)


def descend(structure: Structure, job: Relaxation) -> Requests[Descent]:
    """Minimise the energy from a structure, with the optimizer, the force limit and the number of steps of a job."""
    minimiser = make_minimiser(job.optimizer, job.max_step)
    current, last_point, energies = structure, None, list[float]()
    while True:
        (point,) = yield [current]
        if not point.ok:
            reason = after_steps(len(energies), point.reason)
            return Descent(structure, last_point, energies, reason=reason, cause=point.cause)
        structure, last_point = current, point
        energies.append(point.energy)
        if largest_norm(point.forces) < job.force_limit:
            return Descent(current, point, energies, converged=True)
        if problem := explosion(current.positions - job.structure.positions, point.forces):
            reason = after_steps(len(energies) - 1, problem)
            return Descent(current, point, energies, reason=reason, cause=Cause.EXPLODED)
        if len(energies) > job.steps:
            return Descent(current, point, energies)
        current = current.moved(minimiser.step(current.positions, point.forces))


def explosion(displacements: Floats, forces: Floats) -> str:
    """Why a structure has exploded, from displacements (Å) since the start and forces (eV/Å); empty if it has not."""
    if (distance := largest_norm(displacements)) > TOO_FAR:
        return f"exploded: an atom is {distance:.0f} Å from its first position"
    if (force := largest_norm(forces)) > TOO_STRONG:
        return f"exploded: a force is {force:.1e} eV/Å"
    return ""


def after_steps(steps: int, reason: str) -> str:
    """The reason, with the number of completed steps before it."""
    return f"after {steps} steps: {reason}" if steps and reason else reason
