"""Energy units of files, and what one of each is in eV."""

from __future__ import annotations

from assay.errors import AssayError
from assay.naming import did_you_mean

ENERGY_UNITS = ("eV", "meV", "kcal/mol", "kJ/mol", "Hartree")


def electronvolts(unit: str) -> float:
    """One `unit` in eV, with the constants that ASE uses everywhere else."""
    from ase import units

    known = {
        "eV": 1.0,
        "meV": 1e-3,
        "kcal/mol": units.kcal / units.mol,
        "kJ/mol": units.kJ / units.mol,
        "Hartree": units.Hartree,
    }
    if unit not in known:
        hint = did_you_mean(unit, ENERGY_UNITS)
        raise AssayError(f"'{unit}' is no unit of energy{hint}; choose from {', '.join(ENERGY_UNITS)}")
    return float(known[unit])
