"""Structures displaced along every coordinate by a ladder of steps, for the checks on forces and their Jacobian."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.verification._check import Refused, base_point
from assay.benchmarks.verification._symmetry import subjects
from assay.jobs import SinglePoints
from assay.outcome import Outcome, Point
from assay.structure import Floats, Structure
from assay.survey import Survey

STEPS = tuple(0.032 / 2**k for k in range(6))
"""Displacements in Å, from 0.032 down to 0.001."""


def ladder_cases(survey: Survey) -> Iterable[Case]:
    """Every cluster and crystal with each coordinate moved by ± each step."""
    for kind, label, structure in subjects(survey):
        job = SinglePoints((structure, *_ladder(structure)))
        yield Case(f"{label}-{kind}", {"ladder": job}, {"steps": np.array(STEPS)})


def _ladder(structure: Structure) -> Iterable[Structure]:
    """Order: step, then sign, then coordinate."""
    moves = np.eye(3 * len(structure)).reshape(-1, len(structure), 3)
    for step in STEPS:
        for sign in (1.0, -1.0):
            for move in moves:
                yield structure.moved(structure.positions + sign * step * move)


def split_ladder(case: Case, outcome: Outcome) -> tuple[Point, Floats, Floats, Floats]:
    """The undisplaced point, the steps, and energies and forces by (step, sign, coordinate)."""
    points = outcome.points()
    base = base_point(points)
    bad = next((p for p in points if not p.ok), None)
    if bad is not None:
        raise Refused(bad.reason)
    steps = np.asarray(case.context["steps"])
    dofs = base.forces.size
    energies = np.array([p.energy for p in points[1:]]).reshape(len(steps), 2, dofs)
    forces = np.array([p.forces.ravel() for p in points[1:]]).reshape(len(steps), 2, dofs, dofs)
    return base, steps, energies, forces


def coordinate(index: int) -> str:
    """The name of a coordinate for people, for example "atom 3 y"."""
    return f"atom {index // 3} {'xyz'[index % 3]}"
