"""How far two copies of a molecule differ once one is moved and turned onto the other."""

from __future__ import annotations

import numpy as np

from assay.structure import Floats


def superposed(moving: Floats, fixed: Floats) -> Floats:
    """The first set of positions (Å), moved and turned, not mirrored, so that it fits the second best (Kabsch 1976)."""
    start, goal = moving.mean(axis=0), fixed.mean(axis=0)
    left, _, right = np.linalg.svd((moving - start).T @ (fixed - goal))
    # Without this sign a molecule would be laid onto its mirror image, another molecule.
    handedness = np.diag([1.0, 1.0, float(np.sign(np.linalg.det(left @ right)))])
    return np.asarray((moving - start) @ left @ handedness @ right + goal)


def superposed_rmsd(moving: Floats, fixed: Floats) -> float:
    """Root mean square distance (Å) of the atoms of two copies of a molecule after the best superposition."""
    gaps = superposed(moving, fixed) - fixed
    return float(np.sqrt((gaps * gaps).sum(axis=1).mean()))
