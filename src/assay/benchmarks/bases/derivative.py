"""Structures displaced along every coordinate by a ladder of steps, for the checks on forces and their Jacobian."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.limits import NotResolved, Refused, base_point
from assay.benchmarks.bases.symmetry import subjects
from assay.jobs import SinglePoints
from assay.outcome import Outcome, Point
from assay.structure import Floats, Structure
from assay.survey import Survey

STEPS = tuple(0.032 / 3**k for k in range(8))
"""Displacements (Å) from 0.032 to 1.5e-5: large ones for noisy models, small ones to fit between kinks."""


def ladder_cases(survey: Survey) -> Iterable[Case]:
    """Every cluster and crystal, and a slab and a wire of the first species, each coordinate moved by each step."""
    slabs = [(p, *item) for p in ("TTF", "TFF") for item in survey.crystals(p)[:1]]
    for kind, label, structure in [*subjects(survey), *slabs]:
        job = SinglePoints((structure, *_ladder(structure)), alone=True, sample=_sample(len(structure)))
        yield Case(f"{label}-{kind}", {"ladder": job}, {"steps": np.array(STEPS), "numbers": structure.numbers})


def _ladder(structure: Structure) -> Iterable[Structure]:
    """Order: step, then sign, then coordinate."""
    moves = np.eye(3 * len(structure)).reshape(-1, len(structure), 3)
    for step in STEPS:
        for sign in (1.0, -1.0):
            for move in moves:
                yield structure.moved(structure.positions + sign * step * move)


def _sample(atoms: int) -> tuple[int, ...]:
    """What the calculator computes itself: the base, one coordinate at every step, and one of every other atom."""
    numbers = 1 + np.arange(len(STEPS) * 2 * 3 * atoms).reshape(len(STEPS), 2, 3 * atoms)
    others = [3 * atom + atom % 3 for atom in range(1, atoms)]
    return (0, *numbers[:, :, 0].ravel().tolist(), *numbers[2][:, others].ravel().tolist())


def split_ladder(case: Case, outcome: Outcome) -> tuple[Point, Floats, Floats, Floats]:
    """The undisplaced point, the steps, and energies and forces by (step, sign, coordinate)."""
    points = outcome.points()
    base = base_point(points)
    bad = next((p for p in points if not p.ok), None)
    if bad is not None:
        raise Refused(bad.reason, bad.cause)
    steps = np.asarray(case.context["steps"])
    dofs = base.forces.size
    energies = np.array([p.energy for p in points[1:]]).reshape(len(steps), 2, dofs)
    forces = np.array([p.forces.ravel() for p in points[1:]]).reshape(len(steps), 2, dofs, dofs)
    return base, steps, energies, forces


LOOSEST = 0.02
"""An error beyond this fraction of the largest derivative fails, however rough the function is."""

ENOUGH = 0.8
"""At least this fraction of all derivatives must be known well enough to be judged."""


@dataclass(frozen=True)
class Judged:
    """The worst of many derivatives: where it is, its error, what was allowed, and the usual uncertainty."""

    worst: int
    error: float
    allowed: float
    floor: float


def judge_derivatives(
    errors: Floats, uncertainty: Floats, gap: Floats, scale: float, relative: float, rounding: float
) -> Judged:
    """The worst error relative to its tolerance.

    The tolerance is a fraction of the largest derivative, or more where the derivative is uncertain: ten times the
    uncertainty of the estimate, or the size of a kink, where a derivative may be that of either side. Places where this
    is more than `LOOSEST` are left out, unless they are too many: then the function is too rough, and all are judged.
    """
    allowed = np.maximum(np.maximum(relative * scale, 10.0 * uncertainty), 0.6 * gap).ravel()
    certain = allowed <= LOOSEST * scale
    if certain.mean() < ENOUGH:
        certain[:] = True
    allowed = np.minimum(allowed, LOOSEST * scale)
    ratio = np.where(certain, errors.ravel() / allowed, -1.0)
    worst = int(np.argmax(ratio))
    # The letter is relative to the usual uncertainty, so that a rough place does not improve its own letter; and an
    # error beyond the tolerance of a smooth function is no A, as in a network of reduced precision.
    floor = min(max(float(np.median(uncertainty)), rounding), 0.1 * relative * scale)
    return Judged(worst, float(errors.ravel()[worst]), float(allowed[worst]), floor)


UNRESOLVED = 0.01
"""Derivatives that rounding leaves uncertain by more than this part of the largest one are not judged."""


def require_resolved(
    errors: Floats,
    uncertainty: Floats,
    scale: float,
    rounding: float,
    total: float,
    what: str = "force",
    per: str = "Å",
) -> None:
    """Raise `NotResolved` where the rounding of the energy hides the derivative, unless the error is far larger.

    `rounding` is the uncertainty that the rounding of an energy of size `total` (eV) gives at the largest step; `what`
    the derivative is and what it is `per` are for the sentence.
    """
    if rounding > UNRESOLVED * scale and not np.any(errors > 10.0 * np.maximum(uncertainty, rounding)):
        raise NotResolved(
            f"not resolved: energies of {abs(total):.2g} eV are rounded so that their slope is known to "
            f"{rounding:.1g} eV/{per} only, and the largest {what} is {scale:.2g} eV/{per}"
        )


def coordinate(index: int) -> str:
    """The name of a coordinate for people, for example "atom 3 y"."""
    return f"atom {index // 3} {'xyz'[index % 3]}"
