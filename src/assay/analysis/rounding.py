"""How rough a function is under tiny displacements: the size of its rounding errors."""

from __future__ import annotations

import numpy as np

from assay.structure import Floats

ORDER = 6
"""Differences of this order vanish for a smooth function over thousandths of an ångström, but not for noise."""

SCATTER = float(np.sqrt(924.0))
"""A difference of order 6 of independent errors is larger than one of them by the root of the sum of C(6, k)²."""


def roughness(values: Floats) -> float:
    """The usual error of values (points first) at equal small distances, from their differences of order 6.

    The median is taken, so that one kink or jump between the points does not count.
    """
    differences = np.abs(np.diff(values, n=ORDER, axis=0)) / SCATTER
    return float(np.median(differences.reshape(len(differences), -1).max(axis=1)))
