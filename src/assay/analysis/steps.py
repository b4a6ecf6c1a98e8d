"""Steps of an energy curve that are narrower than what an atom travels in one step of a simulation."""

from __future__ import annotations

import numpy as np

from assay.structure import Floats

WIDTH = 0.02
"""Steps of the energy up to this width (Å) act as jumps: about what atoms travel in one step of a simulation.

At 900 K the mean thermal velocity along an axis, sqrt(kT/m), is 0.027 Å/fs for hydrogen and 0.003 Å/fs for copper;
with the usual time steps of 0.5 to 5 fs these are 0.014 to 0.017 Å. An integrator that steps over a change of the
energy does not feel its force, and the energy of the simulation changes by the whole step."""

ALIKE = (0.7, 1.4)
"""A step is narrow if the work that is missing across twice `WIDTH` is about that across `WIDTH`. For a smooth curve it
is eight times as large, for a force that is not the slope of the energy twice."""


def is_narrow(across: tuple[float, float]) -> bool:
    """True if the missing work (eV) across `WIDTH` and across twice that width is that of one narrow step."""
    narrow, wide = across
    return ALIKE[0] * abs(narrow) <= wide * np.sign(narrow) <= ALIKE[1] * abs(narrow)


def missing_work(energies: tuple[float, float], forces: tuple[float, float], width: float) -> float:
    """The change of energy (eV) across an interval (Å) plus the work of the mean of the forces (eV/Å) at its ends."""
    return energies[1] - energies[0] + 0.5 * width * (forces[0] + forces[1])


def unexplained_changes(at: Floats, energy: Floats, force: Floats, width: float) -> Floats:
    """Change (eV), centre and width (Å) of every interval between ascending positions, up to a width (Å).

    The change is the part of the change of energy that no force (eV/Å) between those at the ends of the interval
    explains. It is zero wherever the force only rises or only falls, as on a steep repulsive wall or at a kink.
    """
    rows = [np.zeros((0, 3))]
    for offset in range(1, len(at)):
        widths = at[offset:] - at[:-offset]
        first = np.flatnonzero(widths <= width)
        if len(first) == 0:
            break
        last, size = first + offset, widths[first]
        work, products = energy[first] - energy[last], np.stack([force[first], force[last]]) * size
        change = np.maximum(products.min(axis=0) - work, work - products.max(axis=0))
        rows.append(np.stack([np.maximum(change, 0.0), 0.5 * (at[first] + at[last]), size], axis=1))
    return np.concatenate(rows)


def steps_within(at: Floats, energy: Floats, force: Floats, least: float) -> list[tuple[float, float]]:
    """Centre and width (Å) of intervals up to `WIDTH` with an unexplained change of more than `least` (eV).

    The largest change comes first; of each change, the narrowest interval that has most of it is taken.
    """
    rows = unexplained_changes(at, energy, force, WIDTH)
    rows = rows[rows[:, 0] > least]
    chosen: list[tuple[float, float]] = []
    for change, centre, _ in rows[np.argsort(-rows[:, 0])]:
        if all(abs(centre - other) > WIDTH for other, _ in chosen):
            near = rows[(np.abs(rows[:, 1] - centre) <= WIDTH) & (rows[:, 0] >= 0.9 * change)]
            narrowest = near[np.argmin(near[:, 2])]
            chosen.append((float(narrowest[1]), float(narrowest[2])))
    return chosen
