"""The mirror image has the same energy and opposite forces.

Without a magnetic field or parity-breaking forces, matter and its mirror image are equal. A potential that is not even
under inversion prefers one hand of a molecule.

Protocol:
- r → −r for positions and cell, and a mirror plane; clusters are irregular, so that each is chiral.
Reference: exact symmetry.
Cite: OpenKIM verification check vc-inversion-symmetry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.benchmarks.bases.symmetry import Change, SymmetryCheck
from assay.structure import Structure


@dataclass(frozen=True)
class InversionSymmetry(SymmetryCheck):
    """The energy stays and the forces change sign under inversion."""

    mandatory = True
    catches = ("not_inversion_symmetric",)

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """The inverted copy, and one mirrored in a plane, which is an inversion and a rotation."""
        inversion, mirror = -np.eye(3), np.diag([1.0, 1.0, -1.0])
        yield Change("inverted", structure.transformed(inversion), matrix=inversion)
        yield Change("mirrored", structure.transformed(mirror), matrix=mirror)
