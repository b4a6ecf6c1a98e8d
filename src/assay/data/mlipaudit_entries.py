"""The entries of MLIPAudit's JSON files, and how each becomes a record.

A reader gets the name of an entry, the entry, and its energy unit in eV. All molecules are closed-shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from assay.data.bond_types import fits
from assay.data.dataset import Record
from assay.data.rules import REACTION, REFERENCE
from assay.structure import Structure

Entry = Mapping[str, object]
Reader = Callable[[str, Entry, float], Record]


class Unusable(Exception):
    """What is wrong with an entry, as words that follow its name."""


def _get(entry: Entry, key: str) -> object:
    if key not in entry:
        raise Unusable(f"lacks the key '{key}'")
    return entry[key]


def _floats(entry: Entry, key: str, dimensions: int) -> np.ndarray:
    """An array of numbers with the given number of dimensions; energy profiles have two columns, coordinates three."""
    try:
        values = np.array(_get(entry, key), dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unusable(f"has '{key}' that is not a table of numbers") from error
    if values.ndim != dimensions or (dimensions > 1 and values.shape[-1] not in (2, 3)):
        raise Unusable(f"has '{key}' of the wrong shape ({'×'.join(map(str, values.shape)) or 'a single number'})")
    return values


def _symbols(value: object) -> list[int]:
    from ase.data import atomic_numbers

    if not isinstance(value, list) or not all(isinstance(symbol, str) for symbol in value):
        raise Unusable("has 'atom_symbols' that is not a list of symbols")
    unknown = [symbol for symbol in value if atomic_numbers.get(symbol, 0) == 0]
    if unknown:
        raise Unusable(f"has an element '{unknown[0][:20]}', which does not exist")
    return [int(atomic_numbers[symbol]) for symbol in value]


def _charge(entry: Entry, key: str = "charge") -> int:
    value = entry.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(-99, 100):
        raise Unusable(f"has '{key}' {value!r}, which is not a whole number")
    return int(value)


def _molecule(numbers: list[int], positions: np.ndarray, charge: int) -> Structure:
    if positions.shape != (len(numbers), 3):
        raise Unusable(f"has {positions.shape[0]} positions for {len(numbers)} atoms")
    return replace(Structure.build(numbers, positions), charge=charge, spin=1)


def _frames(entry: Entry, key: str, charge: int) -> tuple[Structure, ...]:
    numbers = _symbols(_get(entry, "atom_symbols"))
    return tuple(_molecule(numbers, frame, charge) for frame in _floats(entry, key, 3))


def read_complex(name: str, entry: Entry, scale: float) -> Record:
    """A complex at several distances, sorted; `distance_profile` is 10 times the distance divided by the minimum."""
    structures = _frames(entry, "coords", _charge(entry, "total_charge"))
    distances, energies = _floats(entry, "distance_profile", 1), _floats(entry, "interaction_energy_profile", 1)
    if not len(structures) == len(distances) == len(energies):
        raise Unusable(f"has {len(structures)} structures, {len(distances)} distances and {len(energies)} energies")
    data_set = str(entry.get("dataset_name", ""))
    info: dict[str, object] = {
        "group": f"{data_set} {entry.get('group', '')}".strip(),
        "name": str(entry.get("system_name", name)),
        "data_set": data_set,
        "repulsive": data_set == "NCIA_R739x5",
    }
    if "selection_indices_a" in entry and "selection_indices_b" in entry:
        info |= {"atoms_a": entry["selection_indices_a"], "atoms_b": entry["selection_indices_b"]}
        info |= {"charge_a": _charge(entry, "charge_a"), "charge_b": _charge(entry, "charge_b")}
    order = np.argsort(distances, kind="stable")
    return Record(
        name,
        tuple(structures[i] for i in order),
        tuple(float(scale * energies[i]) for i in order),
        tuple(float(distances[i] / 10.0) for i in order),
        info=info,
    )


def read_torsion(name: str, entry: Entry, scale: float) -> Record:
    """A torsion profile: angles (degrees) and energies."""
    profile = _floats(entry, "dft_energy_profile", 2)
    structures = _frames(entry, "conformer_coordinates", _charge(entry))
    info = {"torsion": entry.get("torsion_atom_indices"), "smiles": str(entry.get("smiles", ""))}
    energies, angles = tuple(float(scale * e) for e in profile[:, 1]), tuple(float(a) for a in profile[:, 0])
    return Record(name, structures, energies, angles, info={k: v for k, v in info.items() if v})


def read_conformers(name: str, entry: Entry, scale: float) -> Record:
    """Conformers of a molecule with their energies."""
    energies = tuple(float(scale * e) for e in _floats(entry, "dft_energy_profile", 1))
    return Record(name, _frames(entry, "conformer_coordinates", _charge(entry)), energies)


def read_tautomers(name: str, entry: Entry, scale: float) -> Record:
    """Two tautomers; each lists its own atoms."""
    symbols, coordinates = _get(entry, "atom_symbols"), _get(entry, "coordinates")
    if not (isinstance(symbols, list) and isinstance(coordinates, list) and len(symbols) == len(coordinates)):
        raise Unusable("has 'atom_symbols' and 'coordinates' of different length")
    charge = _charge(entry)
    structures = tuple(
        _molecule(_symbols(own), _floats({"coordinates": positions}, "coordinates", 2), charge)
        for own, positions in zip(symbols, coordinates, strict=True)
    )
    return Record(name, structures, tuple(float(scale * e) for e in _floats(entry, "energies", 1)))


def read_geometry(name: str, entry: Entry, scale: float) -> Record:
    """A molecule at its reference geometry."""
    numbers = _symbols(_get(entry, "atom_symbols"))
    molecule = _molecule(numbers, _floats(entry, "coordinates", 2), _charge(entry))
    return Record(name, (molecule,), roles=(REFERENCE,), info={"smiles": str(entry.get("smiles", ""))})


_SYMBOLS = {"carbon": "C", "nitrogen": "N", "oxygen": "O", "fluorine": "F", "single": "-", "double": "=", "triple": "#"}


def read_bond(name: str, entry: Entry, scale: float) -> Record:
    """A molecule with one bond marked; a bond whose length does not fit its type is left out.

    One of the published entries lists symbols and coordinates in different orders: its C=O is 1.51 Å long.
    """
    record = read_geometry(name, entry, scale)
    words = [_SYMBOLS.get(word, "") for word in re.findall("[a-z]+", name.lower())]
    stated = f"{words[0]}{words[2]}{words[1]}" if len(words) == 3 else ""
    pair, length = _get(entry, "pattern_atom_indices"), float(_floats(entry, "reference_bond_distance", 0))
    if stated and not fits(stated, length):
        raise Unusable(f"has a bond {stated} of {length:.2f} Å; its symbols and coordinates do not match")
    marks: dict[str, object] = {"bond": pair, "bond_length": length}
    return replace(record, info={**record.info, **marks, **({"bond_type": stated} if stated else {})})


def read_ring(name: str, entry: Entry, scale: float) -> Record:
    """A molecule with a ring marked."""
    record = read_geometry(name, entry, scale)
    return replace(record, info={**record.info, "ring": _get(entry, "pattern_atoms")})


def read_reaction(name: str, entry: Entry, scale: float) -> Record:
    """Reactant, transition state and product with their energies."""
    structures, energies = [], []
    for key in ("reactants", "transition_state", "products"):
        part = _get(entry, key)
        if not isinstance(part, dict):
            raise Unusable(f"has '{key}' that is not an object")
        numbers = _symbols(_get(part, "atom_symbols"))
        structures.append(_molecule(numbers, _floats(part, "coordinates", 2), _charge(entry)))
        energies.append(float(scale * _floats(part, "energy", 0)))
    return Record(name, tuple(structures), tuple(energies), roles=REACTION)
