"""Units of energy in data files, and their values in eV."""

from __future__ import annotations

from assay.errors import AssayError
from assay.naming import did_you_mean

ENERGY_UNITS = ("eV", "meV", "kcal/mol", "kJ/mol", "Hartree")


def check_energy_unit(unit: str) -> None:
    """Raise an error for a unit of energy that is not supported."""
    if unit not in ENERGY_UNITS:
        hint = did_you_mean(unit, ENERGY_UNITS)
        raise AssayError(f"'{unit}' is not a unit of energy{hint}; choose from {', '.join(ENERGY_UNITS)}")


def electronvolts(unit: str) -> float:
    """The value of one `unit` in eV, from the physical constants of ASE."""
    from ase import units

    check_energy_unit(unit)
    values = {
        "eV": 1.0,
        "meV": 1e-3,
        "kcal/mol": units.kcal / units.mol,
        "kJ/mol": units.kJ / units.mol,
        "Hartree": units.Hartree,
    }
    return float(values[unit])
