"""Energies of several structures of one molecule, compared with reference energies of the same structures.

Both sets have the same unit and order; their zeros of energy may differ.
"""

from __future__ import annotations

import numpy as np

from assay.structure import Floats


def relative_to_lowest(predicted: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Both sets of energies relative to the structure with the lowest reference energy."""
    lowest = int(np.argmin(reference))
    return predicted - predicted[lowest], reference - reference[lowest]


def mean_absolute_error(predicted: Floats, reference: Floats) -> float:
    """Mean absolute difference between predicted and reference values."""
    return float(np.abs(predicted - reference).mean())


def root_mean_square_error(predicted: Floats, reference: Floats) -> float:
    """Root mean square difference between predicted and reference values."""
    return float(np.sqrt(((predicted - reference) ** 2).mean()))


def barrier(energies: Floats) -> float:
    """Energy difference between the highest and the lowest point of a profile."""
    return float(np.ptp(energies))


def interaction_energy(curve: Floats, distances: Floats, repulsive: bool) -> float:
    """Energy of the minimum relative to the largest distance; for a repulsive curve, energy of the highest point."""
    extreme = curve.max() if repulsive else curve.min()
    return float(extreme - curve[int(np.argmax(distances))])
