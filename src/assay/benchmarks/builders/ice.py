"""Ice: a periodic system of any size for models that support hydrogen and oxygen."""

from __future__ import annotations

from functools import cache

import numpy as np

from assay.structure import Floats, Structure

SPACING = 2.76
"""Distance (Å) of neighbouring oxygens in ice."""

BOND = 0.97
"""Length (Å) of O-H bonds."""


@cache
def ice_cell() -> Structure:
    """Eight water molecules, 24 atoms, in an orthorhombic cell of ice Ih; each oxygen donates two of its four bonds."""
    cell, oxygens = _oxygens()
    bonds = _bonds(cell, oxygens)
    molecules: list[list[Floats]] = [[] for _ in oxygens]
    for giver, vector in _given(bonds, len(oxygens)):
        molecules[giver].append(oxygens[giver] + BOND * vector / np.linalg.norm(vector))
    positions = [place for oxygen, hydrogens in zip(oxygens, molecules, strict=True) for place in (oxygen, *hydrogens)]
    return Structure.build([8, 1, 1] * len(oxygens), positions, cell, "TTT")


def _oxygens() -> tuple[Floats, Floats]:
    """The cell and its oxygens: puckered layers of hexagons, every second one mirrored."""
    side, height = SPACING * np.sqrt(8.0 / 3.0), SPACING * 8.0 / 3.0
    cell = np.diag([side, side * np.sqrt(3.0), height])
    flat = np.array([[0.0, 1 / 3], [0.5, 5 / 6], [0.0, 2 / 3], [0.5, 1 / 6]])
    pucker = np.array([1.0, 1.0, -1.0, -1.0]) / 16.0
    layers = [np.column_stack([flat, 0.25 + pucker]), np.column_stack([flat, 0.75 - pucker])]
    return cell, np.concatenate(layers) @ cell


def _bonds(cell: Floats, oxygens: Floats) -> list[tuple[int, int, Floats]]:
    """Neighbours, each pair once, with the vector (Å) from the first to the second."""
    from itertools import product

    images = np.array(list(product((-1, 0, 1), repeat=3))) @ cell
    found = []
    for i, here in enumerate(oxygens):
        for j in range(i + 1, len(oxygens)):
            vectors = oxygens[j] + images - here
            found += [(i, j, v) for v in vectors[np.linalg.norm(vectors, axis=1) < 1.1 * SPACING]]
    return found


def _given(bonds: list[tuple[int, int, Floats]], count: int) -> list[tuple[int, Floats]]:
    """A donor for each bond, by closed walks along the bonds: each oxygen donates as many as it accepts."""
    left = dict(enumerate(bonds))
    found = []
    for start in range(count):
        here = start
        while own := [key for key, (i, j, _) in left.items() if here in (i, j)]:
            i, j, vector = left.pop(own[0])
            found.append((here, vector if here == i else -vector))
            here = j if here == i else i
    return found
