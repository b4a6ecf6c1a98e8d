"""Moving everything, other images of the same atoms, or a cell without meaning changes nothing.

Space has no origin, a crystal may be described with any image of its atoms and any basis of its lattice, and a molecule
may carry a cell that it does not use. Errors here come from wrapping, from neighbour lists, and from coordinates that
lose digits far from the origin.

Protocol:
- Rigid shifts of 1, 40 and 1000 Å.
- For periodic systems also shifts by lattice vectors, random images of each atom, all atoms wrapped into the cell,
  another basis of the same lattice, and shifts that put atoms exactly on corners, faces and the centre of the cell, or
  −4e-52 of a cell vector outside, which wraps to 1. For these shifts there is also a crystal with right angles, in
  which several atoms share a face and no coordinate is rounded.
- Molecules also with a cell: large, tiny, skewed, left-handed, and with one vector only, which a model may refuse.
- Errors that grow with the distance from the origin as those of rounded coordinates do are named so.
Reference: exact symmetry.
Cite: OpenKIM verification check vc-objectivity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.limits import EPSILON, Residual
from assay.benchmarks.bases.symmetry import Change, SymmetryCheck, subjects
from assay.benchmarks.builders.faces import crystals_on_faces
from assay.outcome import Outcome
from assay.structure import Structure
from assay.survey import Survey

PLACES = {"a corner": 0.0, "the opposite corner": 1.0, "the centre": 0.5, "a corner, less 4e-52": -4e-52}
"""Where a shift puts the first atom, as a fraction of each periodic cell vector."""

SKEWED = np.array([[7.0, 0.0, 0.0], [3.1, 6.2, 0.0], [-2.3, 2.9, 5.4]])
CELLS = {
    "a cubic cell": 15.0 * np.eye(3),
    "a tiny cell": 1.3 * np.eye(3),
    "a skewed cell": SKEWED,
    "a left-handed cell": SKEWED[[1, 0, 2]],
    "one cell vector": np.diag([6.0, 0.0, 0.0]),
}
"""Cells (Å) that mean nothing to a molecule."""

SOFTEST, STIFFEST = 0.03, 3e3
"""Force constants (eV/Å²) that turn rounded coordinates into errors of forces."""

GROWTH = 4.0
"""From one shift to the next, 25 times as long or more, the error of rounded coordinates grows by more than this."""


@dataclass(frozen=True)
class TranslationInvariance(SymmetryCheck):
    """Energy and forces do not depend on where the atoms are, which images of them are listed, or an unused cell."""

    mandatory = True
    version = 2
    catches = ("external_field", "outside_cell", "periodic_with_any_cell", "wraps_molecules", "loses_atoms_on_faces")
    shifts: tuple[float, ...] = (1.0, 40.0, 1000.0)

    def structures(self, survey: Survey) -> Iterable[tuple[str, str, Structure]]:
        """Clusters and crystals, and a crystal with atoms on the faces of its cell."""
        return [*subjects(survey), *crystals_on_faces(survey)]

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """Shifted copies and, for periodic structures, copies with other images, else with a cell."""
        for length in self.shifts:
            direction = rng.normal(size=3)
            shift = length * direction / np.linalg.norm(direction)
            yield Change(f"shifted by {length:g} Å", structure.moved(structure.positions + shift), distance=length)
        if any(structure.pbc):
            yield from self._images(structure, rng)
            yield from self._on_faces(structure)
        else:
            for name, cell in CELLS.items():
                flat = np.linalg.matrix_rank(cell) < 3
                yield Change(f"with {name}", replace(structure, cell=cell), may_be_refused=flat)

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Energy, forces and stress of every copy against those of the original, with the usual cause of an error."""
        found = list(super().residuals(case, outcomes))
        rounded = self._rounded_coordinates(found)
        for residual in found:
            cause = " (coordinates rounded to single precision)" if rounded and residual.ratio > 1.0 else ""
            yield replace(residual, where=f"{residual.where}{cause}")

    def _rounded_coordinates(self, found: list[Residual]) -> bool:
        """True if the error of the forces grows with the shift, by what rounding of coordinates does to bonds."""
        names = [f"shifted by {length:g} Å: forces" for length in self.shifts]
        errors = [r.error for name in names for r in found if r.where.endswith(name)]
        if len(errors) != len(names) or any(far < GROWTH * near for near, far in pairwise(errors)):
            return False
        return SOFTEST < errors[-1] / (EPSILON["float32"] * self.shifts[-1]) < STIFFEST

    def _images(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        periodic = np.array(structure.pbc)
        for axis in np.flatnonzero(periodic):
            moved = structure.positions + structure.cell[axis]
            yield Change(f"shifted by lattice vector {axis + 1}", structure.moved(moved), distance=10.0)
        images = rng.integers(-2, 3, size=(len(structure), 3)) * periodic
        yield Change("random images", structure.moved(structure.positions + images @ structure.cell), distance=10.0)
        fractions = np.linalg.solve(structure.cell.T, structure.positions.T).T
        wrapped = (fractions - np.floor(fractions) * periodic) @ structure.cell
        yield Change("wrapped into the cell", structure.moved(wrapped), distance=10.0)
        if periodic.all():
            basis = np.array([[1, 1, 0], [0, 1, -1], [0, 0, 1]]) @ structure.cell
            yield Change("another basis of the lattice", replace(structure, cell=basis), distance=10.0)

    def _on_faces(self, structure: Structure) -> Iterable[Change]:
        """Rigid shifts that put the first atom, and those that share a coordinate with it, exactly on faces."""
        diagonal = (structure.cell * np.array(structure.pbc)[:, None]).sum(axis=0)
        corner = structure.positions - structure.positions[0]
        for name, fraction in PLACES.items():
            yield Change(f"with an atom at {name}", structure.moved(corner + fraction * diagonal), distance=10.0)
        odd = (np.arange(len(structure)) % 2)[:, None]
        yield Change("with atoms on opposite faces", structure.moved(corner + odd * diagonal), distance=10.0)
