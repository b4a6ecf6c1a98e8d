"""Distorted clusters and crystals of any species, for the checks of a model. They are always the same (fixed seed)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from assay.structure import Floats, Structure

SEED = 13
TOUCHING = 1.12
"""Distance of neighbours as a multiple of the sum of their covalent radii, before it is scaled for a model."""

CLOSEST = 1.2
"""Shortest distance (Å) of neighbours in a crystal: by its radius alone, H would have 1000 neighbours within 4 Å."""

CLUSTER_SIZE = 6
"""Atoms in a cluster."""

DISTORTION = 0.08
"""Largest displacement of an atom of a crystal along x, y and z, as a fraction of the nearest-neighbour distance."""

VACUUM = 20.0
"""Vacuum (Å) around a cluster in a periodic box, for models that support only periodic systems."""


def radius(number: int) -> float:
    """Covalent radius in Å; 1.5 Å for elements without a measured one."""
    from ase.data import covalent_radii

    value = float(covalent_radii[number]) if number < len(covalent_radii) else 0.0
    return value if value > 0.25 else 1.5


def symbol(number: int) -> str:
    """The chemical symbol of an atomic number."""
    from ase.data import chemical_symbols

    return str(chemical_symbols[number])


def generator(*labels: int) -> np.random.Generator:
    """A random number generator that depends only on the labels."""
    return np.random.default_rng([SEED, *labels])


def dimer(first: int, second: int, distance: float | None = None) -> Structure:
    """Two atoms at a distance (Å), by default in contact, along a direction without symmetry."""
    length = TOUCHING * (radius(first) + radius(second)) if distance is None else distance
    direction = np.array([0.36, 0.48, 0.80])
    return Structure.build([first, second], [np.zeros(3), length * direction])


def cluster(species: Sequence[int], factor: float = 1.0, size: int = CLUSTER_SIZE, variant: int = 0) -> Structure:
    """A compact, irregular, chiral cluster: each atom is added where it touches another atom and overlaps none.

    `factor` scales all distances; the species alternate.
    """
    numbers = tuple(int(species[i % len(species)]) for i in range(max(size, len(species))))
    return Structure.build(numbers, factor * _compact_sites(numbers, variant))


@cache
def _compact_sites(numbers: tuple[int, ...], variant: int) -> Floats:
    """Sites (Å) of the atoms of a cluster about their centre; many checks use the same clusters."""
    rng = generator(1, variant, *numbers)
    placed: list[Floats] = [np.zeros(3)]
    for i in range(1, len(numbers)):
        placed.append(_next_site(numbers[: i + 1], np.array(placed), rng))
    positions = np.array(placed)
    return np.asarray(positions - positions.mean(axis=0))


def _next_site(numbers: Sequence[int], placed: Floats, rng: np.random.Generator) -> Floats:
    """The random site nearest to the centre that touches an atom and overlaps none."""
    new = radius(numbers[-1])
    reach = TOUCHING * np.array([radius(z) + new for z in numbers[:-1]])
    hosts = rng.integers(len(placed), size=400)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    sites = placed[hosts] + directions * (reach[hosts] * rng.uniform(0.95, 1.15, 400))[:, None]
    distances = np.linalg.norm(sites[:, None, :] - placed[None], axis=2) / reach
    free = sites[distances.min(axis=1) >= 0.92]
    return np.asarray(free[np.argmin(np.linalg.norm(free - placed.mean(axis=0), axis=1))])


def crystal(species: Sequence[int], factor: float = 1.0, pbc: str = "TTT", variant: int = 0) -> Structure:
    """Four atoms in a distorted, slightly skewed face-centred cell, which is smaller than most cutoffs.

    Directions that are not periodic keep their lattice vector, which a sound model ignores.
    """
    numbers = [species[i % len(species)] for i in range(4)]
    rng = generator(2, variant, *numbers)
    distance = factor * max(TOUCHING * 2.0 * float(np.mean([radius(z) for z in numbers])), CLOSEST)
    sites = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
    cell = np.sqrt(2.0) * distance * (np.eye(3) + 0.06 * rng.uniform(-1.0, 1.0, (3, 3)))
    positions = sites @ cell + DISTORTION * distance * rng.uniform(-1.0, 1.0, (4, 3))
    return Structure.build(numbers, positions, cell, pbc)


def boxed(structure: Structure) -> Structure:
    """A cluster in the centre of a periodic box with vacuum on every side."""
    extent = structure.positions.max(axis=0) - structure.positions.min(axis=0)
    cell = np.diag(extent + VACUUM)
    centre = 0.5 * (structure.positions.max(axis=0) + structure.positions.min(axis=0))
    return replace(structure, positions=structure.positions - centre + 0.5 * np.diag(cell), cell=cell, pbc=(True,) * 3)
