"""Structures on which every adapter is tested: lone atoms, pairs, molecules, clusters, and cells below the cutoff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.configurations import boxed, cluster, crystal, dimer, radius, symbol
from assay.errors import AssayError
from assay.model import PERIODIC_PATTERNS, Model
from assay.structure import Structure, from_atoms

PREFERRED = (8, 1, 6, 7, 29, 14, 17, 79)
"""O H C N Cu Si Cl Au: where a model claims these, its structures are made of them."""

SPECIES = 6
"""The largest number of species in one structure."""

SHORTEST, LONGEST, PAIRS = 0.5, 6.0, 30
"""Pairs are this far apart (Å), at this many distances."""

SMALL_CELL = 3.6
"""Length (Å) that the vectors of a cell have at least; most cutoffs are longer."""

APART = 30.0
"""A distance (Å) beyond the cutoffs of networks."""


def standard_structures(
    elements: Sequence[int] = (1, 6, 7, 8),
    pbc: Sequence[str] = ("FFF", *PERIODIC_PATTERNS),
    *,
    charge: bool = False,
    shortest: float = SHORTEST,
) -> dict[str, Structure]:
    """Structures of different sizes and periodicity that a model with these claims must answer, by name.

    Args:
        elements: Atomic numbers that the model claims.
        pbc: Patterns of periodic directions that it claims. Without "FFF", molecules are put into a periodic box.
        charge: Whether to add ions.
        shortest: The shortest distance of the pairs in Å.
    """
    species = _species(elements)
    open_ones = dict(_open_structures(species, shortest))
    open_ones |= dict(_molecules(set(elements), charge))
    if "FFF" not in pbc:
        open_ones = {f"{name} in a box": boxed(s) for name, s in open_ones.items()} if "TTT" in pbc else {}
    return open_ones | dict(_periodic_structures(species, pbc))


def structures_for(model: Model, shortest: float = SHORTEST) -> dict[str, Structure]:
    """The standard structures for the claims of a model; without a claim about periodicity, those that have none."""
    if model.card.elements is None:
        raise AssayError(f"model '{model.name}' claims no elements; claim them, or give structures to test it on")
    pbc = model.card.pbc if model.card.pbc is not None else ("FFF",)
    return standard_structures(model.card.elements, pbc, charge=bool(model.card.charge), shortest=shortest)


def skewed_cell(elements: Sequence[int] = (1, 6, 7, 8), pbc: str = "TTT") -> Structure:
    """Four atoms in a skewed cell that is smaller than most cutoffs, so that an atom meets images of itself."""
    species = _species(elements)[:4]
    small = float(np.linalg.norm(crystal(species).cell, axis=1).min())
    return crystal(species, max(1.0, SMALL_CELL / small), pbc)


def distorted_molecule(elements: Sequence[int] = (1, 6, 7, 8)) -> Structure:
    """Ethanol away from its minimum, or a cluster for models without H, C and O: its forces are large."""
    if not {1, 6, 8} <= set(elements):
        return cluster(_species(elements))
    from ase.build import molecule

    ethanol = molecule("CH3CH2OH")
    ethanol.rattle(0.1, seed=1)
    return from_atoms(ethanol)


def ion(name: str, charge: int) -> Structure:
    """A molecule of ASE's collection with a charge (e)."""
    from ase.build import molecule

    return replace(from_atoms(molecule(name)), charge=charge)


def _species(elements: Sequence[int]) -> list[int]:
    """Some of the elements, common ones first."""
    if not elements:
        raise AssayError("there are no elements to make structures of; give at least one atomic number")
    common = [z for z in PREFERRED if z in set(elements)]
    return [*common, *(z for z in elements if z not in common)][:SPECIES]


def _open_structures(species: Sequence[int], shortest: float) -> Iterator[tuple[str, Structure]]:
    """Lone atoms, pairs over many distances, atoms that are far apart, and two clusters."""
    first, second = species[0], species[min(2, len(species) - 1)]
    for z in dict.fromkeys((first, second)):
        yield f"{symbol(z)} atom", Structure.build([z], [[3.0, 2.0, 1.0]])
    for distance in np.linspace(shortest, LONGEST, PAIRS):
        yield f"{symbol(second)}-{symbol(first)} at {distance:.2f} Å", dimer(second, first, float(distance))
    near = radius(first) + radius(second)
    places = [[0.0, 0.0, 0.0], [APART, 0.0, 0.0], [APART + 0.6 * near, 0.8 * near, 0.0]]
    yield "two atoms far apart", Structure.build([first, second], places[:2])
    yield "an atom far from two others", Structure.build([first, second, first], places)
    yield "small cluster", cluster(species, size=len(species))
    yield "large cluster", cluster(species, size=12)


def _molecules(elements: set[int], charge: bool) -> Iterator[tuple[str, Structure]]:
    from ase.build import molecule

    if {1, 8} <= elements:
        yield "water", from_atoms(molecule("H2O"))
    if {1, 6, 8} <= elements:
        yield "distorted ethanol", distorted_molecule(tuple(elements))
    if charge and {1, 7, 8} <= elements:
        yield "hydroxide", ion("OH", -1)
        yield "ammonia cation", ion("NH3", 1)


def _periodic_structures(species: Sequence[int], pbc: Sequence[str]) -> Iterator[tuple[str, Structure]]:
    """The skewed cell in each pattern, a supercell, and a slab of three layers."""
    for pattern in PERIODIC_PATTERNS:
        if pattern in pbc:
            yield f"cell {pattern}", skewed_cell(species, pattern)
    if "TTT" in pbc:
        yield "supercell", skewed_cell(species).repeated((2, 1, 1))
        yield "crystal of one element", skewed_cell(species[-1:])
    if "TTF" in pbc:
        yield "slab", skewed_cell(species[-1:], "TTF").repeated((1, 1, 3))
