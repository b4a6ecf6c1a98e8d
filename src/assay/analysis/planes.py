"""Planarity of rings."""

from __future__ import annotations

import numpy as np

from assay.structure import Floats


def plane_rmsd(positions: Floats) -> Floats:
    """Root mean square distance (Å) of atoms from their best-fit plane in each frame; shape (frames, atoms, 3)."""
    centred = positions - positions.mean(axis=1, keepdims=True)
    smallest = np.linalg.svd(centred, compute_uv=False)[:, -1] if positions.shape[1] >= 3 else np.zeros(len(positions))
    return np.asarray(smallest / np.sqrt(positions.shape[1]))
