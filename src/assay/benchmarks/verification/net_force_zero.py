"""The forces on all atoms sum to zero, and so does the torque on a cluster.

A structure cannot push or turn itself. A net force makes a simulation drift, a net torque makes a molecule spin up.

Protocol:
- Total force of distorted clusters and crystals; total torque about the centre for clusters in the open.
Reference: exact conservation law.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual, base_point
from assay.benchmarks.bases.symmetry import subjects
from assay.jobs import SinglePoints
from assay.outcome import Outcome
from assay.survey import Survey


@dataclass(frozen=True)
class NetForceZero(Check):
    """Total force and, for clusters, total torque vanish."""

    catches = ("external_field",)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One evaluation of every cluster and crystal."""
        for kind, label, structure in subjects(survey):
            context = {"positions": structure.positions, "free": structure.pattern == "FFF"}
            yield Case(f"{label}-{kind}", {"points": SinglePoints((structure,), alone=True)}, context)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """The sums against the largest force times the number of atoms."""
        limits, point = Limits.of(case), base_point(outcomes["points"].points())
        count = len(point.forces)
        total = float(np.abs(point.forces.sum(axis=0)).max())
        scale = count * max(float(np.abs(point.forces).max()), 1.0)
        yield limits.forces(f"{case.id} total", total, scale)
        if case.context["free"]:
            positions = np.asarray(case.context["positions"])
            vectors = positions - positions.mean(axis=0)
            torque = float(np.abs(np.cross(vectors, point.forces).sum(axis=0)).max())
            reach = float(np.abs(vectors).max())
            limit = limits.forces("", torque, scale)
            yield Residual(f"{case.id} torque", torque, "eV", limit.tolerance * reach, limit.floor * reach, limit.why)
