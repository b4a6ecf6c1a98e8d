"""Turning the structure and its cell turns the forces and the stress, and leaves the energy alone.

Space has no preferred direction. Potentials break this by truncated equivariant features, by grids, or by treating
axes differently.

Protocol:
- Three random proper rotations and a quarter turn, of positions and cell together.
Reference: exact symmetry.
Cite: OpenKIM verification check vc-objectivity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.benchmarks.bases.symmetry import Change, SymmetryCheck
from assay.structure import Floats, Structure


@dataclass(frozen=True)
class RotationInvariance(SymmetryCheck):
    """The energy stays, and forces and stress turn with the structure."""

    mandatory = True
    catches = ("not_rotation_invariant",)
    rotations: int = 3

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """Rotated copies."""
        quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        matrices = {"a quarter turn": quarter}
        matrices |= {f"rotation {i + 1}": random_rotation(rng) for i in range(self.rotations)}
        for name, matrix in matrices.items():
            yield Change(name, structure.transformed(matrix), matrix=matrix)


def random_rotation(rng: np.random.Generator) -> Floats:
    """A proper rotation drawn evenly from all of them, by the Q factor of a Gaussian matrix."""
    matrix, upper = np.linalg.qr(rng.normal(size=(3, 3)))
    matrix = matrix * np.sign(np.diag(upper))
    return np.asarray(matrix * np.linalg.det(matrix))
