"""Is a wrong force a known multiple of the right one, such as one with the wrong sign or in other units?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats

HARTREE, KCAL, KJ, BOHR = 27.2114, 23.0605, 96.4853, 0.529177
"""Hartree in eV, kcal/mol and kJ/mol in one eV, and the bohr in Å."""

KNOWN = (
    (-1.0, "the sign is reversed"),
    (0.5, "a half is missing, as when each pair counts for one of its atoms only"),
    (2.0, "pairs are counted twice"),
    (1.0 / HARTREE, "forces in Hartree/Å"),
    (HARTREE, "energy in Hartree"),
    (BOHR / HARTREE, "forces in Hartree/bohr"),
    (BOHR, "forces in eV/bohr"),
    (1.0 / BOHR, "a bohr too many"),
    (KCAL, "forces in kcal/mol/Å"),
    (1.0 / KCAL, "energy in kcal/mol"),
    (KJ, "forces in kJ/mol/Å"),
    (1.0 / KJ, "energy in kJ/mol"),
    (0.0, "there are no forces"),
)
"""Ratios of a force to −dE/dx that have a usual cause."""

CLOSE = 0.03
"""A ratio is a known one if all forces of a species agree with it up to this part of their size."""


def known_ratio(forces: Floats, gradient: Floats) -> tuple[float, str] | None:
    """The known ratio of forces to −dE/dx (same shape, eV/Å) and its usual cause; None if there is none."""
    size = max(float(np.linalg.norm(gradient)), 1e-12)
    for ratio, cause in KNOWN:
        if float(np.linalg.norm(forces - ratio * gradient)) <= CLOSE * max(abs(ratio), 0.02) * size:
            return ratio, cause
    return None


def ratios_by_species(
    numbers: NDArray[np.int64], symbols: Sequence[str], forces: Floats, gradient: Floats
) -> list[str]:
    """For each species whose forces are a known multiple of −dE/dx, one phrase that says so."""
    found = {}
    for number, name in zip(numbers.tolist(), symbols, strict=True):
        own = numbers == number
        known = known_ratio(forces.reshape(-1, 3)[own], gradient.reshape(-1, 3)[own])
        if known is not None:
            found[name] = f"forces on {name} are {known[0]:.3g} times −dE/dx: {known[1]}"
    return list(found.values())
