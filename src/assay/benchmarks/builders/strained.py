"""Structures under small strains along chosen directions, for derivatives of the energy with strain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from assay.structure import Floats, Structure

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
NAMES = ("xx", "yy", "zz", "yz", "xz", "xy")
PLACES = {
    "TTT": (NAMES, VOIGT),
    "TTF": (("along the first vector", "across it in the plane", "shear in the plane"), ((0, 0), (1, 1), (0, 1))),
    "TFF": (("along the wire",), ((0, 0),)),
}


def components(pattern: str, cell: Floats) -> tuple[list[str], Floats]:
    """Names of the components along periodic directions, and a symmetric matrix for each that picks it from a stress.

    For crystals these are the six of Voigt. Slabs and wires have axes of their own: the first along the first cell
    vector, the second in the plane of the first two.
    """
    names, places = PLACES[pattern]
    axes = np.eye(3) if pattern == "TTT" else np.linalg.qr(cell.T)[0].T
    matrices = [np.outer(axes[i], axes[j]) for i, j in places]
    return list(names), np.array([0.5 * (matrix + matrix.T) for matrix in matrices])


def strained(structure: Structure, directions: Floats, steps: Sequence[float]) -> Iterable[Structure]:
    """Order: step, then sign, then direction; a shear is shared by both triangles, so dE/dh = V σ."""
    for step in steps:
        for sign in (1.0, -1.0):
            for direction in directions:
                yield structure.transformed(np.eye(3) + sign * step * direction)
