"""Guesses of transition states: a reactant or product with intermediate lengths of the bonds that break and form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ase import Atoms
from ase.data import covalent_radii
from molecules import Bonds
from scipy.optimize import minimize

STRETCHES = ((1.3, 1.3), (1.2, 1.45), (1.45, 1.2), (1.5, 1.5))
"""Lengths of breaking and forming bonds, as multiples of the sum of covalent radii."""

LOOSE = 0.02
"""Weight of distances between atoms that have no bond in the reactant and none in the product."""


def guesses(start: Atoms, before: Bonds, after: Bonds, seed: int) -> Iterator[Atoms]:
    """Guesses from the structure of the reactant or product; `before` are its bonds, `after` those of the other one."""
    radii = covalent_radii[start.numbers]
    rng = np.random.default_rng(seed)
    for breaking, forming in STRETCHES:
        target = start.get_all_distances()
        weights = np.full_like(target, LOOSE)
        for i, j in before | after:
            factor = breaking if (i, j) in before - after else forming
            length = target[i, j] if (i, j) in before & after else factor * (radii[i] + radii[j])
            target[i, j] = target[j, i] = length
            weights[i, j] = weights[j, i] = 1.0
        yield _placed(start, target, weights, rng)


def _placed(start: Atoms, target: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> Atoms:
    """Positions whose distances are as close as possible to the given ones."""
    upper = np.triu_indices(len(start), 1)

    def miss(flat: np.ndarray) -> float:
        points = flat.reshape(-1, 3)
        gaps = np.linalg.norm(points[upper[0]] - points[upper[1]], axis=1) - target[upper]
        return float((weights[upper] * gaps**2).sum())

    noise = 0.05 * rng.normal(size=start.positions.size)
    found = minimize(miss, start.positions.ravel() + noise, method="L-BFGS-B")
    guess = start.copy()
    guess.positions = found.x.reshape(-1, 3)
    return guess
