"""Superposition of two geometries of a molecule, and the distance between them."""

from __future__ import annotations

import numpy as np

from assay.structure import Floats


def superposed(moving: Floats, fixed: Floats) -> Floats:
    """The first positions (Å), translated and rotated, not mirrored, for the best fit to the second (Kabsch 1976)."""
    start, goal = moving.mean(axis=0), fixed.mean(axis=0)
    left, _, right = np.linalg.svd((moving - start).T @ (fixed - goal))
    # Without this sign the result could be the mirror image, which is another molecule.
    handedness = np.diag([1.0, 1.0, float(np.sign(np.linalg.det(left @ right)))])
    return np.asarray((moving - start) @ left @ handedness @ right + goal)


def superposed_rmsd(moving: Floats, fixed: Floats) -> float:
    """Root mean square distance (Å) between the atoms of two geometries after the best superposition."""
    displacements = superposed(moving, fixed) - fixed
    return float(np.sqrt((displacements * displacements).sum(axis=1).mean()))
