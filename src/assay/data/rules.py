"""What a record of each kind must have before a benchmark may ask a model about it."""

from __future__ import annotations

import math

import numpy as np

from assay.data.dataset import Record
from assay.structure import Structure

REACTION = ("reactant", "transition_state", "product")
REFERENCE, DISPLACED = "reference", "displaced"


def complaint(kind: str, record: Record) -> str:
    """Why the record cannot be used, as words that follow its name; nothing if it can."""
    return _shape(record) or _COUNT[kind](record) or _atoms(kind, record) or _parts(record)


def _shape(record: Record) -> str:
    """Structures, energies and coordinates of equal number, and all of them finite."""
    count = len(record.structures)
    for name, values in (("energies", record.energies), ("coordinates", record.coordinates)):
        if values is not None and len(values) != count:
            return f"has {len(values)} {name} for {count} structures"
        if values is not None and not all(math.isfinite(value) for value in values):
            return f"has a value in its {name} that is not a finite number"
    if record.roles and len(record.roles) != count:
        return f"has {len(record.roles)} roles for {count} structures"
    if any(len(s) == 0 for s in record.structures):
        return "has a structure without atoms"
    if not all(np.isfinite(s.positions).all() and np.isfinite(s.cell).all() for s in record.structures):
        return "has a position that is not a finite number"
    return ""


def _scan(record: Record) -> str:
    if record.coordinates is None:
        return "does not say where on the scan its structures lie"
    return _several(record)


def _several(record: Record) -> str:
    if len(record.structures) < 2:
        return "has fewer than two structures"
    return "" if record.energies is not None else "has no reference energies"


def _pair(record: Record) -> str:
    if len(record.structures) != 2:
        return f"has {len(record.structures)} structures instead of two"
    return "" if record.energies is not None else "has no reference energies"


def _reaction(record: Record) -> str:
    if sorted(record.roles) != sorted(REACTION):
        return f"has the roles {', '.join(record.roles) or 'none'} instead of one each of {', '.join(REACTION)}"
    return "" if record.energies is not None else "has no reference energies"


def _geometry(record: Record) -> str:
    if record.roles not in ((REFERENCE,), (REFERENCE, DISPLACED)):
        return f"has the roles {', '.join(record.roles) or 'none'} instead of {REFERENCE}, and then perhaps {DISPLACED}"
    return ""


def _bond(record: Record) -> str:
    bond = record.info.get("bond")
    natoms = len(record.structures[0])
    if not (_indices(bond, natoms) and len(bond) == 2):  # type: ignore[arg-type]
        return f"needs two different atoms for its bond, counted from 0 to {natoms - 1}"
    return _positive(record, "bond_length", "bond_stiffness") or _one(record)


def _ring(record: Record) -> str:
    ring = record.info.get("ring")
    natoms = len(record.structures[0])
    if not (_indices(ring, natoms) and len(ring) > 3):  # type: ignore[arg-type]
        return f"needs four or more different atoms for its ring, counted from 0 to {natoms - 1}"
    return _positive(record, "plane_fluctuation") or _one(record)


def _positive(record: Record, *names: str) -> str:
    for name in names:
        value = record.info.get(name, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < math.inf:
            return f"has a {name} of {value!r}, which must be a number above zero"
    return ""


def _one(record: Record) -> str:
    """The first structure counts; a displaced copy may follow it."""
    displaced = record.roles == (REFERENCE, DISPLACED)
    return "" if len(record.structures) == 1 or displaced else f"has {len(record.structures)} structures instead of one"


_COUNT = {
    "noncovalent_interactions": _scan,
    "dihedral_scan": _scan,
    "conformer_selection": _several,
    "tautomers": _pair,
    "reference_geometry": _geometry,
    "reactions": _reaction,
    "bonds": _bond,
    "rings": _ring,
    "stability": _one,
}


def _atoms(kind: str, record: Record) -> str:
    """The same atoms in all structures, in the same order where geometries are compared; one charge and one spin."""
    first = record.structures[0]
    free = kind == "tautomers" or (kind == "reactions" and record.info.get("use") == "tst")
    for other in record.structures[1:]:
        if _listed(first, sort=True) != _listed(other, sort=True):
            return f"has structures of different atoms ({_formula(first)} and {_formula(other)})"
        if not free and _listed(first, sort=False) != _listed(other, sort=False):
            return "lists the atoms of its structures in different orders"
        if (first.charge, first.spin) != (other.charge, other.spin):
            return "has structures of different charge or spin"
    return ""


def _listed(structure: Structure, sort: bool) -> list[int]:
    numbers = [int(number) for number in structure.numbers]
    return sorted(numbers) if sort else numbers


def _formula(structure: Structure) -> str:
    from ase.formula import Formula
    from ase.symbols import Symbols

    return str(Formula(Symbols(structure.numbers).get_chemical_formula()))


def _parts(record: Record) -> str:
    """The two molecules of a complex, and the torsion, must name atoms that are there."""
    natoms = len(record.structures[0])
    if "atoms_a" in record.info or "atoms_b" in record.info:
        parts = [record.info.get(name) for name in ("atoms_a", "atoms_b")]
        if not all(_indices(part, natoms) for part in parts):
            return f"needs atoms_a and atoms_b as lists of atoms, counted from 0 to {natoms - 1}"
        together = [index for part in parts if isinstance(part, list | tuple) for index in part]
        if sorted(together) != list(range(natoms)):
            return "has atoms that are in neither of atoms_a and atoms_b, or in both"
    torsion = record.info.get("torsion")
    if torsion is not None and not (_indices(torsion, natoms) and len(torsion) == 4):  # type: ignore[arg-type]
        return f"needs four different atoms for its torsion, counted from 0 to {natoms - 1}"
    return ""


def _indices(value: object, natoms: int) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    whole = all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < natoms for i in value)
    return whole and len(set(value)) == len(value)
