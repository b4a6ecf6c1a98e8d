"""Rules that a record must fulfil before a benchmark may use it.

A rule is a function that takes a record and returns what is wrong with it, as words that follow the name of the record
in a sentence ("has no reference energies"); the text is empty if nothing is wrong. The kinds of data in
`assay.data.kinds` are declared with these rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay.data.dataset import Record
from assay.structure import Structure

Rule = Callable[[Record], str]

REACTION = ("reactant", "transition_state", "product")
REFERENCE, DISPLACED = "reference", "displaced"


def complete(record: Record) -> str:
    """The record has structures, each has its energy, coordinate and role, and all numbers are finite."""
    count = len(record.structures)
    if count == 0:
        return "has no structures"
    for name, values in (("energies", record.energies), ("coordinates", record.coordinates)):
        if values is not None and len(values) != count:
            return f"has {len(values)} {name} for {count} structures"
        if values is not None and not all(math.isfinite(value) for value in values):
            return f"has NaN or infinite {name}"
    if record.roles and len(record.roles) != count:
        return f"has {len(record.roles)} roles for {count} structures"
    if any(len(s) == 0 for s in record.structures):
        return "has a structure without atoms"
    if not all(np.isfinite(s.positions).all() and np.isfinite(s.cell).all() for s in record.structures):
        return "has NaN or infinite positions"
    return ""


def has_energies(record: Record) -> str:
    """Every structure has a reference energy."""
    return "" if record.energies is not None else "has no reference energies"


def has_coordinates(record: Record) -> str:
    """Every structure has its position on the scan."""
    return "" if record.coordinates is not None else "has no coordinates (the angle or distance of each structure)"


def two_or_more_structures(record: Record) -> str:
    """There are at least two structures to compare."""
    return "has fewer than two structures" if len(record.structures) < 2 else ""


def two_structures(record: Record) -> str:
    """There are exactly two structures."""
    return "" if len(record.structures) == 2 else f"has {len(record.structures)} structures instead of two"


def one_structure(record: Record) -> str:
    """There is one structure; a displaced copy of it may follow."""
    displaced = record.roles == (REFERENCE, DISPLACED)
    return "" if len(record.structures) == 1 or displaced else f"has {len(record.structures)} structures instead of one"


def reaction_roles(record: Record) -> str:
    """There are a reactant, a transition state and a product, in any order."""
    if sorted(record.roles) == sorted(REACTION):
        return ""
    return f"has the roles {_listed(record.roles)} instead of one each of {', '.join(REACTION)}"


def geometry_roles(record: Record) -> str:
    """There is a reference geometry; a displaced copy of it may follow."""
    if record.roles in ((REFERENCE,), (REFERENCE, DISPLACED)):
        return ""
    return f"has the roles {_listed(record.roles)} instead of {REFERENCE}, or {REFERENCE} and {DISPLACED}"


def marked_bond(record: Record) -> str:
    """`info` names the two atoms of a bond; length and stiffness are positive where they are given."""
    bond, natoms = record.info.get("bond"), len(record.structures[0])
    if not (are_atoms(bond, natoms) and len(bond) == 2):  # type: ignore[arg-type]
        return f"needs two different atoms for its bond, with numbers from 0 to {natoms - 1}"
    return _positive(record, "bond_length", "bond_stiffness")


def marked_ring(record: Record) -> str:
    """`info` names four or more atoms of a ring; their fluctuation is positive where it is given."""
    ring, natoms = record.info.get("ring"), len(record.structures[0])
    if not (are_atoms(ring, natoms) and len(ring) > 3):  # type: ignore[arg-type]
        return f"needs four or more different atoms for its ring, with numbers from 0 to {natoms - 1}"
    return _positive(record, "plane_fluctuation")


def same_atoms(record: Record) -> str:
    """All structures have the same elements, charge and spin; they may list their atoms in different orders."""
    first = record.structures[0]
    for other in record.structures[1:]:
        if sorted(first.numbers.tolist()) != sorted(other.numbers.tolist()):
            return f"has structures of different atoms ({_formula(first)} and {_formula(other)})"
        if (first.charge, first.spin) != (other.charge, other.spin):
            return "has structures of different charge or spin"
    return ""


def same_atoms_in_order(record: Record) -> str:
    """All structures list the same elements in the same order, with the same charge and spin."""
    first = record.structures[0]
    if reason := same_atoms(record):
        return reason
    if any(first.numbers.tolist() != other.numbers.tolist() for other in record.structures[1:]):
        return "lists the atoms of its structures in different orders"
    return ""


def same_atoms_of_reaction(record: Record) -> str:
    """The order of atoms matters for paths, but not in data that is only meant for energies (`use = "tst"`)."""
    return same_atoms(record) if record.info.get("use") == "tst" else same_atoms_in_order(record)


def named_atoms(record: Record) -> str:
    """The two molecules of a complex and the torsion, where they are given, name atoms that exist."""
    natoms = len(record.structures[0])
    if "atoms_a" in record.info or "atoms_b" in record.info:
        parts = [record.info.get(name) for name in ("atoms_a", "atoms_b")]
        if not all(are_atoms(part, natoms) for part in parts):
            return f"needs atoms_a and atoms_b as lists of atoms, with numbers from 0 to {natoms - 1}"
        together = [index for part in parts if isinstance(part, list | tuple) for index in part]
        if sorted(together) != list(range(natoms)):
            return "has atoms that are in neither of atoms_a and atoms_b, or in both"
    torsion = record.info.get("torsion")
    if torsion is not None and not (are_atoms(torsion, natoms) and len(torsion) == 4):  # type: ignore[arg-type]
        return f"needs four different atoms for its torsion, with numbers from 0 to {natoms - 1}"
    return ""


def are_atoms(value: object, natoms: int) -> bool:
    """True for a list of different whole numbers from 0 to `natoms` - 1."""
    if not isinstance(value, list | tuple) or not value:
        return False
    whole = all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < natoms for i in value)
    return whole and len(set(value)) == len(value)


def _listed(roles: tuple[str, ...]) -> str:
    return ", ".join(roles) or "none"


def _positive(record: Record, *names: str) -> str:
    for name in names:
        value = record.info.get(name, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
            return f"has a {name} of {value!r}, which must be a number above zero"
    return ""


def _formula(structure: Structure) -> str:
    from ase.formula import Formula
    from ase.symbols import Symbols

    return str(Formula(Symbols(structure.numbers).get_chemical_formula()))
