"""The shape of the energy per atom of a crystal from compression to expansion."""

from __future__ import annotations

import numpy as np

from assay.analysis.correlation import spearman
from assay.analysis.curves import inward_drop, minima, sign_changes
from assay.structure import Floats

DEEP = 0.1
"""Energy per atom (eV) below which ups and downs do not count."""

SIZEABLE_PRESSURE = 1.0
"""GPa below which the sign of the pressure does not count."""


def compression_shape(
    distance: Floats, energy: Floats, pressure: Floats, touching: float, well_from: float
) -> tuple[dict[str, float], dict[str, object]]:
    """Minima, holes, order and sign changes of a curve by name, and the curve itself for plots.

    Args:
        distance: nearest-neighbour distances (Å), rising.
        energy: energy per atom (eV) at each of them.
        pressure: pressure (GPa) at each of them; empty if it is unknown.
        touching: distance (Å) at which atoms touch.
        well_from: distance (Å) from which on the well is looked for.
    """
    # Three points at least are left on the compressed side.
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
