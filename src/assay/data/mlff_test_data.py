"""Schrödinger's MLFF_test_data: folders of JSON files, each with the structures of one record.

Coordinates are in Å; energies are in Hartree, with keys such as `E[DLPNO-CCSD(T)](Ha)`; the atoms of a torsion are
counted from 1.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from assay.data.archives import read_members
from assay.data.dataset import Card, DataSet, Record
from assay.data.energy_units import electronvolts
from assay.data.kinds import find_kind
from assay.errors import AssayError
from assay.structure import Structure


def read_mlff(archive: Path, card: Card, folder: str, energy: str) -> list[DataSet]:
    """Read the files of one folder of the repository; `energy` is the key of the energies to use."""
    files = read_members(archive, f"'{card.name}'", lambda name: _inside(name, folder))
    records: list[Record] = []
    remarks: list[str] = []
    for name in sorted(files, key=_in_order):
        stem = PurePosixPath(name).stem
        try:
            record = _record(stem, json.loads(files[name]), energy)
            reason = find_kind(card.kind).complaint(record)
        except KeyError as error:
            reason = f"lacks the key {error}"
        except (ValueError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            reason = f"cannot be read ({error})"
        if reason:
            remarks.append(f"record '{stem}' of '{card.name}' {reason} and is left out")
        else:
            records.append(record)
    if not records:
        raise AssayError(f"there is no usable record in '{archive}' ({remarks[0] if remarks else 'no JSON files'})")
    return [DataSet(card, tuple(records), tuple(remarks))]


def _inside(name: str, folder: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == folder and path.suffix == ".json"


def _in_order(name: str) -> tuple[int, str]:
    """`tautomer_pair_10` comes after `tautomer_pair_9`."""
    return len(name), name


def _record(name: str, entries: list[dict[str, Any]], energy: str) -> Record:
    if not entries:
        raise ValueError("it has no structures")
    scale = electronvolts("Hartree")
    structures = tuple(_structure(entry) for entry in entries)
    energies = tuple(scale * float(entry[energy]) for entry in entries)
    info: dict[str, object] = {"smiles": str(entries[0].get("smiles", ""))}
    if "torsion_angle" not in entries[0]:
        return Record(name, structures, energies, info=info)
    angles = tuple(float(entry["torsion_angle"]) for entry in entries)
    info["torsion"] = [int(atom) - 1 for atom in entries[0]["torsion_atoms"]]
    return Record(name, structures, energies, angles, info=info)


def _structure(entry: dict[str, Any]) -> Structure:
    from ase.data import atomic_numbers

    numbers = [atomic_numbers[symbol] for symbol in entry["elements"]]
    molecule = Structure.build(numbers, entry["coordinates"])
    if len(molecule.positions) != len(numbers):
        raise ValueError(f"{len(molecule.positions)} positions for {len(numbers)} atoms")
    return replace(molecule, charge=int(entry["charge"]), spin=1)
