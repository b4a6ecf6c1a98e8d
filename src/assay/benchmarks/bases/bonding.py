"""Which pairs and crystals of elements bind, so that their energy curves must have a well.

A curve that only repels has no wrong minima, and without these lists it would look perfect.
"""

from __future__ import annotations

NOBLE_GASES = frozenset({2, 10, 18, 36, 54, 86, 118})
"""He, Ne, Ar, Kr, Xe, Rn, Og: their pairs, with any element, have wells of some 0.01 eV or none."""

CLOSED_SHELLS = frozenset({4, 12, 20, 38, 56, 88, 30, 48, 80, 112, 25, 70, 102})
"""Be, Mg, Ca, Sr, Ba, Ra, Zn, Cd, Hg, Cn, Mn, Yb, No: atoms whose outer s shell is full. Two of them are held together
by dispersion, with wells up to about 0.2 eV (Ca2 0.14, Mn2 0.1, Mg2 0.05, Hg2 0.05 eV)."""

MOLECULAR = NOBLE_GASES | {1, 7, 8, 9, 17, 35, 53}
"""Noble gases and H, N, O, F, Cl, Br, I, which form molecules: their close-packed crystals of atoms need not bind."""


def pair_binds(first: int, second: int) -> bool:
    """True for two elements (atomic numbers) whose atoms form a bond, so that their curve must have one well."""
    if {first, second} & NOBLE_GASES:
        return False
    return not (first in CLOSED_SHELLS and second in CLOSED_SHELLS)


def crystal_binds(number: int) -> bool:
    """True for an element whose atoms bind in every close-packed or diamond crystal."""
    return number not in MOLECULAR
