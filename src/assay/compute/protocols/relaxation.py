"""Relaxation: downhill from a structure until the forces are small, the steps are used up, or it goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.compute.protocols import Asking, Ending
from assay.compute.protocols.minimisers import largest_norm, make_minimiser
from assay.errors import Cause
from assay.jobs import Relaxation
from assay.outcome import FAILED, OK, Point
from assay.structure import Floats, Structure

TOO_FAR = 20.0
"""An atom that is this far (Å) from where it started has left: the structure has exploded."""

TOO_STRONG = 1e6
"""A force (eV/Å) that no arrangement of atoms has which is worth following."""


@dataclass(frozen=True)
class Descent:
    """Where a minimisation ended: the last structure that the model answered, and its answer."""

    structure: Structure
    point: Point | None
    energies: Sequence[float]
    converged: bool = False
    reason: str = ""
    cause: str = Cause.NONE

    @property
    def values(self) -> dict[str, object]:
        """What is kept; nothing if not even the first structure was answered."""
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


def run_relaxation(job: Relaxation) -> Asking[Ending]:
    """The minimisation of one structure. That it did not converge is for the benchmark to judge, not a failure here."""
    descent = yield from descend(job.structure, job)
    return Ending(FAILED if descent.reason else OK, descent.values, descent.reason, descent.cause)


def descend(structure: Structure, job: Relaxation) -> Asking[Descent]:
    """Downhill from a structure with the optimizer, the limit and the number of steps of a job."""
    minimiser = make_minimiser(job.optimizer, job.max_step)
    here, answer, energies = structure, None, list[float]()
    while True:
        (point,) = yield [here]
        if not point.ok:
            return Descent(structure, answer, energies, reason=after(len(energies), point.reason), cause=point.cause)
        structure, answer = here, point
        energies.append(point.energy)
        if largest_norm(point.forces) < job.force_limit:
            return Descent(here, point, energies, converged=True)
        if trouble := exploded(here.positions - job.structure.positions, point.forces):
            return Descent(here, point, energies, reason=after(len(energies) - 1, trouble), cause=Cause.EXPLODED)
        if len(energies) > job.steps:
            return Descent(here, point, energies)
        moved = minimiser.step(here.positions, point.forces)
        here = here.moved(moved)


def exploded(moves: Floats, forces: Floats) -> str:
    """Why a structure cannot be followed any further, from how far (Å) its atoms have gone; empty if it can."""
    if (distance := largest_norm(moves)) > TOO_FAR:
        return f"exploded: an atom is {distance:.0f} Å from where it was"
    if (force := largest_norm(forces)) > TOO_STRONG:
        return f"exploded: a force of {force:.1e} eV/Å"
    return ""


def after(steps: int, reason: str) -> str:
    """The reason, with the number of steps that had been made."""
    return f"after {steps} steps: {reason}" if steps and reason else reason
