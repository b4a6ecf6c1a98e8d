"""Lengths and stiffnesses of carbon bonds by type, to find the type of a bond from its length and the reverse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class BondType(NamedTuple):
    """Length (Å) and stiffness (eV/Å², the inverse of the compliance) of a bond."""

    length: float
    stiffness: float


BOND_TYPES: Mapping[str, BondType] = {
    "C-C": BondType(1.52, 28.2),
    "C=C": BondType(1.32, 64.2),
    "C#C": BondType(1.20, 116.0),
    "C-N": BondType(1.46, 29.4),
    "C#N": BondType(1.15, 130.9),
    "C-O": BondType(1.41, 30.3),
    "C=O": BondType(1.20, 82.7),
    "C-F": BondType(1.38, 31.4),
}
"""Lengths of ωB97M-D3(BJ)/def2-TZVP minima; stiffness in GFN2-xTB, by data_generation/fluctuations.py."""

FAR = 0.12
"""A bond whose length differs by more than this (Å) from that of a type is of another type."""


def bond_type(symbols: tuple[str, str], length: float) -> str:
    """The type of a bond between two elements with the closest length; empty if no type is close."""
    first, second = sorted(symbols, key=lambda s: (s != "C", s))
    kinds = {name: kind for name, kind in BOND_TYPES.items() if name[0] == first and name[2] == second}
    near = min(kinds, key=lambda name: abs(kinds[name].length - length), default="")
    return near if near and fits(near, length) else ""


def fits(name: str, length: float) -> bool:
    """False if a bond is too long or too short for its type; true for types that are not in the table."""
    return name not in BOND_TYPES or abs(BOND_TYPES[name].length - length) <= FAR
