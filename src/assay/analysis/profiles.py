"""Energies of a few structures of one molecule, compared with reference energies of the same structures.

All are in one unit and in the same order; neither set needs a common zero.
"""

from __future__ import annotations

import numpy as np

from assay.structure import Floats


def relative_to_lowest(predicted: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Both relative to the structure that is lowest in the reference."""
    lowest = int(np.argmin(reference))
    return predicted - predicted[lowest], reference - reference[lowest]


def mean_absolute_error(predicted: Floats, reference: Floats) -> float:
    """Mean distance of the two, point by point."""
    return float(np.abs(predicted - reference).mean())


def root_mean_square_error(predicted: Floats, reference: Floats) -> float:
    """Root mean square distance of the two, point by point."""
    return float(np.sqrt(((predicted - reference) ** 2).mean()))


def barrier(energies: Floats) -> float:
    """From the lowest to the highest point of a profile."""
    return float(np.ptp(energies))


def interaction_energy(curve: Floats, distances: Floats, repulsive: bool) -> float:
    """The depth of the well below the largest distance; of a repulsive curve, the height of its highest point."""
    extreme = curve.max() if repulsive else curve.min()
    return float(extreme - curve[int(np.argmax(distances))])
