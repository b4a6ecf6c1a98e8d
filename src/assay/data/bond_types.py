"""Bonds of carbon by type: how long they are, and how stiff. Enough to tell a type by its length, and the reverse."""

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
"""A bond that differs from the length of its type by more than this (Å) is of another type."""


def bond_type(symbols: tuple[str, str], length: float) -> str:
    """The type of a bond of two elements that comes nearest to a length; empty if none is near."""
    first, second = sorted(symbols, key=lambda s: (s != "C", s))
    kinds = {name: kind for name, kind in BOND_TYPES.items() if name[0] == first and name[2] == second}
    near = min(kinds, key=lambda name: abs(kinds[name].length - length), default="")
    return near if near and fits(near, length) else ""


def fits(name: str, length: float) -> bool:
    """False when a bond of a known type is too long or too short for it."""
    return name not in BOND_TYPES or abs(BOND_TYPES[name].length - length) <= FAR
