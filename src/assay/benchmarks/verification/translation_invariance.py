"""Moving everything, or choosing other images of the same atoms, changes nothing.

Space has no origin, and a crystal may be described with any image of its atoms and any basis of its lattice. Errors
here come from wrapping, from neighbour lists, and from coordinates that lose digits far from the origin.

Protocol:
- Rigid shifts of 1, 40 and 1000 Å.
- For periodic systems also shifts by lattice vectors, random images of each atom, all atoms wrapped into the cell, and
  another basis of the same lattice.
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
from assay.benchmarks.bases.symmetry import Change, SymmetryCheck
from assay.outcome import Outcome
from assay.structure import Structure

SOFTEST, STIFFEST = 0.03, 3e3
"""Force constants (eV/Å²) that turn rounded coordinates into errors of forces."""

GROWTH = 4.0
"""From one shift to the next, 25 times as long or more, the error of rounded coordinates grows by more than this."""


@dataclass(frozen=True)
class TranslationInvariance(SymmetryCheck):
    """Energy and forces do not depend on where the atoms are or which images of them are listed."""

    mandatory = True
    catches = ("external_field", "outside_cell")
    shifts: tuple[float, ...] = (1.0, 40.0, 1000.0)

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """Shifted copies and, for periodic structures, copies with other images."""
        for length in self.shifts:
            direction = rng.normal(size=3)
            shift = length * direction / np.linalg.norm(direction)
            yield Change(f"shifted by {length:g} Å", structure.moved(structure.positions + shift), distance=length)
        if any(structure.pbc):
            yield from self._images(structure, rng)

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
