"""Checks of what is plausible in a record of certain kinds of data: bonds, angles, order of energies.

A check is a function that takes a record, which already fulfils the rules of its kind (`assay.data.rules`), and yields
findings. The kinds of data in `assay.data.kinds` name the checks that apply to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from assay.analysis.molecule import bonds, broken_and_made
from assay.analysis.superposition import superposed_rmsd
from assay.data.dataset import Record
from assay.structure import Floats, Structure


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong, as words that follow the name of the record or of the data set."""

    text: str
    unit: bool = False
    """True if a wrong unit would explain it."""

    record: str = ""
    """The record that it is about; empty if it is about the whole set."""

    defect: bool = False
    """True if the record cannot judge any model; it is left out."""

    def __str__(self) -> str:
        return self.text


Findings = Iterator[Finding]
RecordCheck = Callable[[Record], Findings]

SAME_MINIMUM = 0.05
"""Two structures with the same bonds and an RMSD below this (Å) are one minimum, optimised twice."""

LARGEST_ANGLE_ERROR = 5.0
"""Largest difference between the measured and the stated dihedral angle (degrees)."""


def covalent_radii(structure: Structure) -> Floats:
    """Covalent radius of each atom (Å)."""
    from ase.data import covalent_radii as radii

    return np.asarray(radii[structure.numbers], dtype=float)


def bonds_stay(record: Record) -> Findings:
    """All structures have the bonds of the first one."""
    first = record.structures[0]
    radii = covalent_radii(first)
    pairs = bonds(first.positions, radii)
    for place, other in enumerate(record.structures[1:], start=1):
        if any(len(part) for part in broken_and_made(other.positions, pairs, radii)):
            yield Finding(f"does not have the same bonds in structure {place} as in structure 0")


def bonds_of_isomers_differ(record: Record) -> Findings:
    """Two isomers have different bonds, in whatever order their atoms are listed."""
    first, second = record.structures
    if _environments(first) == _environments(second):
        yield Finding("has the same bonds in both structures")


def isomers_are_two(record: Record) -> Findings:
    """Two isomers are two minima. Every model has nearly the same energy for a molecule that is listed twice."""
    first, second = record.structures
    if not np.array_equal(first.numbers, second.numbers):
        return
    gap = superposed_rmsd(first.positions, second.positions)
    if gap < SAME_MINIMUM and _environments(first) == _environments(second):
        yield Finding(f"has the same molecule twice (RMSD {gap:.4f} Å)", defect=True)


def bonds_of_reaction_differ(record: Record) -> Findings:
    """Reactant and product have different bonds; not judged where their atoms may be in different orders."""
    if record.info.get("use") == "tst":
        return
    ends = [s for s, role in zip(record.structures, record.roles, strict=False) if role != "transition_state"]
    pairs = [bonds(end.positions, covalent_radii(end)).tolist() for end in ends]
    if len(pairs) == 2 and pairs[0] == pairs[1]:
        yield Finding("has the same bonds in reactant and product")


def transition_state_is_highest(record: Record) -> Findings:
    """The transition state has a higher energy than reactant and product."""
    energies = dict(zip(record.roles, record.energies or (), strict=False))
    top = energies.get("transition_state", np.inf)
    if top <= max(energies.get("reactant", -np.inf), energies.get("product", -np.inf)):
        yield Finding("has a transition state whose energy is not above those of reactant and product")


def angles_are_as_stated(record: Record) -> Findings:
    """The dihedral angle of each structure is the coordinate that is stated."""
    torsion = record.info.get("torsion")
    if not isinstance(torsion, list | tuple) or record.coordinates is None:
        return
    for structure, stated in zip(record.structures, record.coordinates, strict=True):
        try:
            measured = float(structure.to_atoms().get_dihedral(*torsion))
        except ZeroDivisionError:
            yield Finding("has three atoms of its torsion on a line")
            return
        if abs((measured - stated + 180.0) % 360.0 - 180.0) > LARGEST_ANGLE_ERROR:
            yield Finding(f"has a dihedral angle of {measured:.0f} degrees where {stated:.0f} degrees are stated")


def _environments(structure: Structure) -> list[str]:
    """Each atom described by its neighbours up to three bonds away, independent of the order of atoms."""
    pairs = bonds(structure.positions, covalent_radii(structure))
    names = [str(number) for number in structure.numbers]
    for _ in range(3):
        around: list[list[str]] = [[] for _ in names]
        for i, j in pairs:
            around[i].append(names[j])
            around[j].append(names[i])
        names = [f"{name}({','.join(sorted(near))})" for name, near in zip(names, around, strict=True)]
    return sorted(names)
