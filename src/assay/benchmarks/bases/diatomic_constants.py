"""Measured constants of diatomic molecules in their ground states.

Bond lengths r_e and harmonic wavenumbers ω_e are those of Huber and Herzberg (Constants of Diatomic Molecules, 1979),
except Ag2, which was resolved later. Well depths D_e are their dissociation energies D_0 plus the zero-point energy
ω_e/2 − ω_e x_e/4. A depth is left out where sources differ by more than 0.05 eV (NH, C2, CN, Si2, Ag2) and where the
molecule is still bound at 6 Å, so that a curve which ends there cannot show its depth (Li2, Na2, NaCl).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from assay.analysis.curves import bond, wavenumber
from assay.structure import Floats

ISOTOPE_MASSES = {
    "H": 1.007825, "Li": 7.016003, "C": 12.0, "N": 14.003074, "O": 15.994915, "F": 18.998403, "Na": 22.989769,
    "Si": 27.976927, "P": 30.973762, "S": 31.972071, "Cl": 34.968853, "Cu": 62.929598, "Br": 78.918338,
    "Ag": 106.905092, "I": 126.904472, "Au": 196.966569,
}  # fmt: skip
"""Masses (u) of the isotopes that were measured; with natural masses ω_e of Cl2 would come out 4 cm⁻¹ too low."""


@dataclass(frozen=True)
class Constants:
    """A measured molecule: bond length (Å), wavenumber (cm⁻¹), depth of the well (eV, None if unknown), mass (u)."""

    bond_length: float
    wavenumber: float
    well_depth: float | None
    reduced_mass: float


@cache
def diatomic_constants() -> dict[str, Constants]:
    """The measured molecules by pair, lighter element first, such as "H-Cl"."""
    text = (resources.files("assay.data") / "diatomic_constants.csv").read_text(encoding="utf-8")
    return {row["pair"]: _constants(row) for row in csv.DictReader(text.splitlines())}


def _constants(row: dict[str, str]) -> Constants:
    first, second = (ISOTOPE_MASSES[symbol] for symbol in row["pair"].split("-"))
    depth = row["well_depth_ev"]
    return Constants(
        float(row["bond_length_angstrom"]),
        float(row["wavenumber_per_cm"]),
        float(depth) if depth else None,
        first * second / (first + second),
    )


class BondErrors(NamedTuple):
    """Errors by name of metric, and what the model's curve gives: length (Å), depth (eV), wavenumber (cm⁻¹)."""

    errors: dict[str, float]
    found: dict[str, float]


def bond_errors(pair: str, distance: Floats, energy: Floats) -> BondErrors:
    """Size of the errors of a curve at its minimum nearest to the measured bond length; empty without either."""
    measured = diatomic_constants().get(pair)
    found = bond(distance, energy, measured.bond_length) if measured is not None else None
    if measured is None or found is None:
        return BondErrors({}, {})
    frequency = wavenumber(found.stiffness, measured.reduced_mass)
    errors = {
        "bond_length_error": abs(found.length - measured.bond_length),
        "frequency_error": abs(frequency - measured.wavenumber),
    }
    if measured.well_depth is not None:
        errors["well_depth_error"] = abs(found.depth - measured.well_depth)
    return BondErrors(errors, {"length": found.length, "depth": found.depth, "wavenumber": frequency})
