"""The shape of the energy per atom of a crystal from compression to expansion."""

from __future__ import annotations

import numpy as np

from assay.analysis.correlation import spearman
from assay.analysis.curves import inward_drop, minima, sign_changes
from assay.structure import Floats

DEEP = 0.1
"""Smaller changes of the energy per atom (eV) are ignored."""

SIZEABLE_PRESSURE = 1.0
"""The sign of a smaller pressure (GPa) is ignored."""


def compression_shape(
    distance: Floats, energy: Floats, pressure: Floats, touching: float, well_from: float
) -> tuple[dict[str, float], dict[str, object]]:
    """Minima, holes, rank correlations and sign changes of a curve by name, and the curve itself for plots.

    Args:
        distance: nearest-neighbour distances (Å), increasing.
        energy: energy per atom (eV) at each distance.
        pressure: pressure (GPa) at each distance; empty if the model gives no stress.
        touching: distance (Å) at which atoms touch.
        well_from: the well is searched at this distance (Å) and beyond.
    """
    # At least three points remain on the compressed side.
    start, bonded = (max(int(np.searchsorted(distance, d)), 3) for d in (well_from, touching))
    well = start + int(np.argmin(energy[start:]))
    inner = min(well, bonded)
    drop = inward_drop(distance, energy, float(distance[inner]))
    values = {
        "energy_minima": float(minima(np.concatenate([[energy.max() + 1.0], energy]), DEEP)),
        "holes": float(drop > DEEP),
        "spearman_compression": spearman(distance[: inner + 1], energy[: inner + 1]) or 0.0,
    }
    if len(energy) - well > 2:
        values["spearman_expansion"] = spearman(distance[well:], energy[well:]) or 0.0
    detail: dict[str, object] = {
        "distance": distance,
        "energy": energy,
        "well": float(distance[well]),
        "inward_drop": drop,
    }
    if len(pressure) == len(energy):
        values["pressure_flips"], detail["pressure"] = float(sign_changes(pressure, SIZEABLE_PRESSURE)), pressure
    return values, detail
