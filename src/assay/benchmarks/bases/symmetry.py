"""The base of symmetry checks: a change of the structure that leaves the physics as it is must leave the model so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual, base_point, compare
from assay.errors import Cause
from assay.jobs import SinglePoints
from assay.outcome import Outcome, Point
from assay.structure import Floats, Structure
from assay.survey import Survey


@dataclass(frozen=True, eq=False)
class Change:
    """A changed structure, and what becomes of the forces: its atom i was atom `order[i]`, vectors turn by `matrix`.

    `distance` (Å) is how far the atoms move from the origin, which costs digits. A change that `may_be_refused` is
    compared only if the model answers.
    """

    name: str
    structure: Structure
    order: np.ndarray | None = None
    matrix: Floats = field(default_factory=lambda: np.eye(3))
    distance: float = 0.0
    may_be_refused: bool = False


@dataclass(frozen=True)
class SymmetryCheck(Check):
    """Evaluates each structure before and after changes; energy must stay, forces and stress must follow."""

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """The changed copies of a structure."""
        raise TypeError(f"check '{self.name}' changes nothing")

    def structures(self, survey: Survey) -> Iterable[tuple[str, str, Structure]]:
        """What is changed, with kind and label: a cluster and, where claimed, a crystal of every species."""
        return subjects(survey)

    def trials(self, survey: Survey) -> Iterable[Case]:
        """A cluster and, where periodic systems are claimed, a crystal of every species and of the mixture."""
        for kind, label, structure in self.structures(survey):
            rng = np.random.default_rng([17, *structure.numbers])
            changes = list(self.changes(structure, rng))
            properties = ("energy", "forces", "stress") if survey.stress and kind != "cluster" else ("energy", "forces")
            job = SinglePoints((structure, *(c.structure for c in changes)), properties, alone=True)
            identity = np.arange(len(structure))
            context = {
                "names": [c.name for c in changes],
                "orders": np.array([identity if c.order is None else c.order for c in changes]),
                "matrices": np.array([c.matrix for c in changes]),
                "distances": np.array([c.distance for c in changes]),
                "refusable": [c.name for c in changes if c.may_be_refused],
            }
            yield Case(f"{label}-{kind}", {"points": job}, context)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Energy, forces and stress of every changed copy against those of the original."""
        limits, points = Limits.of(case), outcomes["points"].points()
        base = base_point(points)
        rows = zip(*(case.context[k] for k in ("names", "orders", "matrices", "distances")), strict=True)
        for point, (name, order, matrix, distance) in zip(points[1:], rows, strict=True):
            where = f"{case.id} {name}"
            if point.cause == Cause.REFUSED and name in case.context.get("refusable", ()):
                continue
            forces = base.forces[order] @ matrix.T
            yield from compare(limits, where, base, point, base.energy, forces, _rounding(limits, base, distance))
            if base.stress is not None and point.stress is not None:
                expected = matrix @ _tensor(base.stress) @ matrix.T
                error = float(np.abs(_tensor(point.stress) - expected).max())
                yield limits.stress(where, error, float(np.abs(base.stress).max()))


def subjects(survey: Survey) -> Iterable[tuple[str, str, Structure]]:
    """Every cluster and every crystal of a survey, with its kind and label."""
    for label, structure in survey.clusters():
        yield "cluster", label, structure
    for pattern in survey.periodic_patterns[:1]:
        for label, structure in survey.crystals(pattern):
            yield pattern, label, structure


def _rounding(limits: Limits, base: Point, distance: float) -> tuple[float, float]:
    """What rounding of coordinates far from the origin may do to energy and forces, for bonds of up to 100 eV/Å²."""
    blur = limits.epsilon * distance
    force = float(np.abs(base.forces).max())
    return 2.0 * blur * force * len(base.forces), 2.0 * blur * max(100.0, 10.0 * force)


def _tensor(voigt: Floats) -> Floats:
    xx, yy, zz, yz, xz, xy = voigt
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
