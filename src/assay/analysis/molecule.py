"""Bonds and angles of a molecule from positions (Å) and covalent radii (Å)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats

BONDED = 1.25
"""Two atoms are bonded if they are closer than this multiple of the sum of their covalent radii."""

Indices = NDArray[np.int64]


def bonds(positions: Floats, radii: Floats, reach: float = BONDED) -> Indices:
    """Pairs of bonded atoms, each once, as rows in increasing order."""
    i, j = np.triu_indices(len(positions), 1)
    near = np.linalg.norm(positions[i] - positions[j], axis=1) < reach * (radii[i] + radii[j])
    return np.stack([i[near], j[near]], axis=1).astype(np.int64)


def angles(pairs: Indices) -> Indices:
    """Triples of atoms, each once: the first and the last are bonded to the middle one."""
    triples = []
    for centre in np.unique(pairs):
        ends = sorted(int(pair[0] + pair[1] - centre) for pair in pairs if centre in pair)
        triples += [(a, int(centre), b) for k, a in enumerate(ends) for b in ends[k + 1 :]]
    return np.array(triples, dtype=np.int64).reshape(-1, 3)


def bond_lengths(positions: Floats, pairs: Indices) -> Floats:
    """The length (Å) of each bond."""
    return np.asarray(np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1))


def bond_angles(positions: Floats, triples: Indices) -> Floats:
    """Each bond angle (degrees)."""
    first, last = (positions[triples[:, k]] - positions[triples[:, 1]] for k in (0, 2))
    cosine = (first * last).sum(axis=1) / (np.linalg.norm(first, axis=1) * np.linalg.norm(last, axis=1))
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def mean_changes(end: Floats, start: Floats, pairs: Indices) -> dict[str, float]:
    """Mean absolute changes of bond lengths (`bond_change`, Å) and angles (`angle_change`, degrees).

    Without bonds or without angles, that entry is left out.
    """
    triples, changes = angles(pairs), {}
    if len(pairs):
        changes["bond_change"] = float(np.abs(bond_lengths(end, pairs) - bond_lengths(start, pairs)).mean())
    if len(triples):
        changes["angle_change"] = float(np.abs(bond_angles(end, triples) - bond_angles(start, triples)).mean())
    return changes


def broken_and_made(positions: Floats, pairs: Indices, radii: Floats) -> tuple[Indices, Indices]:
    """Bonds that are broken and bonds that are new.

    A bond is broken above 1.5 times the sum of the covalent radii; a new bond is shorter than 1.1 times that sum. The
    range between allows for bond lengths of another level of theory.
    """
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2) / (radii[:, None] + radii[None])
    bonded = np.zeros(distance.shape, dtype=bool)
    bonded[pairs[:, 0], pairs[:, 1]] = True
    upper = np.triu(np.ones(distance.shape, dtype=bool), 1)
    return np.argwhere(bonded & (distance > 1.5)), np.argwhere(upper & ~bonded & (distance < 1.1))
