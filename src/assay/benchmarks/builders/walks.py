"""One atom that moves through a crystal of about thirty atoms, so that the order of its many neighbours changes.

A list of the 14, 30 or 50 nearest neighbours is complete in a small cluster and too short in a crystal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.benchmarks.builders.crystals import CUBIC_SITES
from assay.configurations import CLOSEST, TOUCHING, generator, radius
from assay.structure import Floats, Structure
from assay.survey import Subject, Survey

USUAL = 29
"""Copper is taken where the model has it: a face-centred crystal with well-behaved electrons."""

DENSE = 0.85
"""Crystals are compressed by this factor, unless the model asked for an expanded one: more neighbours are in reach."""

BALL = 54
"""Atoms of a crystal in the open: about as many neighbours for the atom at its centre as in a periodic crystal."""

SHAKEN = 0.02
"""Largest displacement of an atom, as a fraction of the nearest-neighbour distance; small, so that forces are small."""

BOND, BETWEEN = 0.75, 2.6
"""Bond length of a hydrogen molecule, and distance of molecules (Å)."""


@dataclass(frozen=True)
class Walk:
    """One atom of a structure moves along a direction, from `start` to `end` (Å)."""

    name: str
    structure: Structure
    direction: Floats
    start: float
    end: float
    atom: int = 0


def walks(survey: Survey) -> list[Walk]:
    """The walks for a model: halfway into a vacancy of a crystal; in the open, also of an outer atom away from it."""
    periodic = "TTT" in survey.pbc
    singles = [s for s in survey.subjects if len(s.numbers) == 1 and _factor(s, periodic) is not None]
    if not singles or (not periodic and "FFF" not in survey.pbc):
        return []
    subject = min(singles, key=lambda s: s.numbers[0])  # the lightest: models of electrons become slow
    if periodic:
        subject = min(singles, key=lambda s: (s.numbers[0] != USUAL, s.numbers[0] == 1, s.numbers[0]))
    number, factor = subject.numbers[0], float(_factor(subject, periodic) or 1.0)
    distance = max(TOUCHING * 2.0 * radius(number), CLOSEST) * factor * (1.0 if factor > 1.0 else DENSE)
    if periodic:
        return [Walk(f"{subject.label}-crystal32", *_into_vacancy(_crystal(number, distance)), 0.0, 0.5 * distance)]
    if number == 1:
        return [_stretched_molecule(subject.label)]
    ball, inwards = _into_vacancy(_ball(number, distance))
    outwards = ball.positions[-1] / np.linalg.norm(ball.positions[-1])
    return [
        Walk(f"{subject.label}-cluster{BALL}", ball, inwards, 0.0, 0.5 * distance),
        Walk(f"{subject.label}-cluster{BALL}-outwards", ball, outwards, 0.0, 2.0 * distance, len(ball) - 1),
    ]


def _factor(subject: Subject, periodic: bool) -> float | None:
    return subject.crystal_factor if periodic else subject.cluster_factor


def _crystal(number: int, distance: float) -> Structure:
    """Two by two by two face-centred cells."""
    edge = np.sqrt(2.0) * distance
    cell = Structure.build([number] * 4, edge * np.array(CUBIC_SITES["fcc"]), edge * np.eye(3), "TTT")
    return cell.repeated((2, 2, 2))


def _ball(number: int, distance: float) -> Structure:
    """The sites of a face-centred crystal that are nearest to one of them."""
    return Structure.build([number] * (BALL + 1), _sites(distance)[: BALL + 1])


def _sites(distance: float) -> Floats:
    grid = np.indices((9, 9, 9)).reshape(3, -1).T - 4
    grid = grid[grid.sum(axis=1) % 2 == 0]
    return np.asarray(grid[np.argsort((grid**2).sum(axis=1), kind="stable")] * distance / np.sqrt(2.0))


def _into_vacancy(body: Structure) -> tuple[Structure, Floats]:
    """The structure without atom 1, a neighbour of atom 0, slightly shaken; and the direction to the empty place."""
    direction = body.positions[1] - body.positions[0]
    length = float(np.linalg.norm(direction))
    kept = body.reordered(np.delete(np.arange(len(body)), 1))
    shifts = SHAKEN * length * generator(3, *body.numbers[:1]).uniform(-1.0, 1.0, kept.positions.shape)
    return kept.moved(kept.positions + shifts), direction / length


def _stretched_molecule(label: str) -> Walk:
    """Hydrogen as molecules, one of which is stretched: a metal of hydrogen has no well-defined electronic state."""
    rng = generator(3, 1)
    axes = rng.normal(size=(BALL // 2, 3))
    axes *= 0.5 * BOND / np.linalg.norm(axes, axis=1)[:, None]
    centres = _sites(BETWEEN)[: BALL // 2]
    positions = np.stack([centres + axes, centres - axes], axis=1).reshape(-1, 3)
    body = Structure.build([1] * len(positions), positions)
    return Walk(f"{label}-molecules{BALL}", body, axes[0] / np.linalg.norm(axes[0]), -0.1, 0.7)
