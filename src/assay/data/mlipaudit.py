"""MLIPAudit's own layout: JSON files with fixed names, in one folder or in one sub-folder for each benchmark.

Energies are kcal/mol, but eV in the file of tautomers; coordinates are Å. All molecules are closed-shell. A record that
cannot be used is left out and said so; a file that cannot be read, or holds no usable record, is an error.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assay.data.bond_types import fits
from assay.data.dataset import MARKS, YOURS, Card, DataSet, Record
from assay.data.energy_units import electronvolts
from assay.data.mlipaudit_systems import SYSTEMS, read_systems
from assay.data.rules import REACTION, REFERENCE, complaint
from assay.errors import AssayError
from assay.structure import Structure

LARGEST = 2**30
"""Most bytes of one file that are read."""

Entry = Mapping[str, object]
Reader = Callable[[str, Entry, float], Record]


@dataclass(frozen=True)
class Layout:
    """One file of the layout: what it holds and how an entry becomes a record."""

    kind: str
    read: Reader
    what: str
    level: str
    citation: str
    unit: str = "kcal/mol"
    use: str = ""

    @property
    def units(self) -> str:
        """Of energies, where there are any, and of lengths."""
        return "Å" if self.kind in MARKS else f"{self.unit}, Å"


def read_files(files: Mapping[str, Callable[[], bytes]], where: str, lane: str = YOURS) -> list[DataSet]:
    """A data set for each file whose name belongs to the layout; other files are of no concern here."""
    known = {name: opener for name, opener in sorted(files.items()) if Path(name).name in LAYOUTS}
    sets = [_read_file(name, opener, f"{where}/{name}", lane) for name, opener in known.items()]
    return sets + read_systems(files, where, lane)


def layout_files(folder: Path) -> dict[str, Callable[[], bytes]]:
    """The files of the layout in a folder or in its sub-folders, by their path inside it."""
    names = (*LAYOUTS, *SYSTEMS)
    found = [path for name in names for path in (*folder.glob(name), *folder.glob(f"*/{name}")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): _opener(path) for path in found}


def _opener(path: Path) -> Callable[[], bytes]:
    def contents() -> bytes:
        try:
            if path.stat().st_size > LARGEST:
                raise AssayError(f"'{path}' has more than {LARGEST} bytes, which are not read")
            return path.read_bytes()
        except OSError as error:
            raise AssayError(f"'{path}' cannot be read ({error.strerror or error})") from error

    return contents


def _read_file(name: str, opener: Callable[[], bytes], where: str, lane: str) -> DataSet:
    layout, stem = LAYOUTS[Path(name).name], Path(name).stem
    contents = opener()
    scale = electronvolts(layout.unit)
    records: list[Record] = []
    remarks: list[str] = []
    for key, entry in _entries(contents, where):
        try:
            record = layout.read(key, entry, scale)
            reason = complaint(layout.kind, replace(record, info={**record.info, "use": layout.use}))
        except _Unusable as error:
            reason = str(error)
        if reason:
            remarks.append(f"record '{key}' of '{where}' {reason} and is left out")
        else:
            records.append(replace(record, info={**record.info, "use": layout.use}) if layout.use else record)
    if not records:
        why = remarks[0].removesuffix(" and is left out") if remarks else f"'{where}' is empty"
        raise AssayError(f"there is no usable record in '{where}': {why}")
    return DataSet(_card(stem, layout, where, lane, contents, records), tuple(records), tuple(remarks))


def _card(stem: str, layout: Layout, where: str, lane: str, contents: bytes, records: list[Record]) -> Card:
    structures = sum(len(record.structures) for record in records)
    return Card(
        stem, layout.kind, layout.what, layout.level, "terms of the original data; the packing states none",
        layout.citation, where, lane, layout.units, hashlib.sha256(contents).hexdigest(),
        f"{len(records)} records, {structures} structures",
    )  # fmt: skip


def _entries(contents: bytes, where: str) -> Iterable[tuple[str, Entry]]:
    """Pairs of a name and an entry: the file is an object of entries, or (conformers) a list of named ones."""
    try:
        document = json.loads(contents)
    except (ValueError, RecursionError) as error:
        raise AssayError(f"'{where}' is not valid JSON ({error}); get the file again") from error
    if isinstance(document, list):
        named = [(str(e.get("molecule_name", i)) if isinstance(e, dict) else str(i), e) for i, e in enumerate(document)]
        if len({name for name, _ in named}) != len(named):
            named = [(f"{name}-{i}", entry) for i, (name, entry) in enumerate(named)]
    elif isinstance(document, dict):
        named = list(document.items())
    else:
        raise AssayError(f"'{where}' must hold an object or a list of entries")
    return ((name, entry if isinstance(entry, dict) else {}) for name, entry in named)


class _Unusable(Exception):
    """What is wrong with one entry, as words that follow its name."""


def _get(entry: Entry, key: str) -> object:
    if key not in entry:
        raise _Unusable(f"lacks the key '{key}'")
    return entry[key]


def _floats(entry: Entry, key: str, dimensions: int) -> np.ndarray:
    """Numbers of the given number of dimensions; coordinates end in three columns."""
    try:
        values = np.array(_get(entry, key), dtype=float)
    except (TypeError, ValueError) as error:
        raise _Unusable(f"has '{key}' that are not a table of numbers") from error
    if values.ndim != dimensions or (dimensions > 1 and values.shape[-1] not in (2, 3)):
        raise _Unusable(f"has '{key}' of the shape {'×'.join(map(str, values.shape)) or 'of a single number'}")
    return values


def _symbols(value: object) -> list[int]:
    from ase.data import atomic_numbers

    if not isinstance(value, list) or not all(isinstance(symbol, str) for symbol in value):
        raise _Unusable("has 'atom_symbols' that are not a list of symbols")
    unknown = [symbol for symbol in value if atomic_numbers.get(symbol, 0) == 0]
    if unknown:
        raise _Unusable(f"has an element '{unknown[0][:20]}', which there is not")
    return [int(atomic_numbers[symbol]) for symbol in value]


def _charge(entry: Entry, key: str = "charge") -> int:
    value = entry.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in range(-99, 100):
        raise _Unusable(f"has '{key}' {value!r}, which is no whole number")
    return int(value)


def _molecule(numbers: list[int], positions: np.ndarray, charge: int) -> Structure:
    if positions.shape != (len(numbers), 3):
        raise _Unusable(f"has {positions.shape[0]} positions for {len(numbers)} atoms")
    return replace(Structure.build(numbers, positions), charge=charge, spin=1)


def _frames(entry: Entry, key: str, charge: int) -> tuple[Structure, ...]:
    numbers = _symbols(_get(entry, "atom_symbols"))
    return tuple(_molecule(numbers, frame, charge) for frame in _floats(entry, key, 3))


def _complex(name: str, entry: Entry, scale: float) -> Record:
    """A curve, sorted by distance; `distance_profile` is ten times the multiple of the distance at the minimum."""
    structures = _frames(entry, "coords", _charge(entry, "total_charge"))
    distances, energies = _floats(entry, "distance_profile", 1), _floats(entry, "interaction_energy_profile", 1)
    if not len(structures) == len(distances) == len(energies):
        raise _Unusable(f"has {len(structures)} structures, {len(distances)} distances and {len(energies)} energies")
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


def _torsion(name: str, entry: Entry, scale: float) -> Record:
    profile = _floats(entry, "dft_energy_profile", 2)
    structures = _frames(entry, "conformer_coordinates", _charge(entry))
    info = {"torsion": entry.get("torsion_atom_indices"), "smiles": str(entry.get("smiles", ""))}
    energies, angles = tuple(float(scale * e) for e in profile[:, 1]), tuple(float(a) for a in profile[:, 0])
    return Record(name, structures, energies, angles, info={k: v for k, v in info.items() if v})


def _conformers(name: str, entry: Entry, scale: float) -> Record:
    energies = tuple(float(scale * e) for e in _floats(entry, "dft_energy_profile", 1))
    return Record(name, _frames(entry, "conformer_coordinates", _charge(entry)), energies)


def _tautomers(name: str, entry: Entry, scale: float) -> Record:
    symbols, coordinates = _get(entry, "atom_symbols"), _get(entry, "coordinates")
    if not (isinstance(symbols, list) and isinstance(coordinates, list) and len(symbols) == len(coordinates)):
        raise _Unusable("has 'atom_symbols' and 'coordinates' of different length")
    charge = _charge(entry)
    structures = tuple(
        _molecule(_symbols(own), _floats({"coordinates": positions}, "coordinates", 2), charge)
        for own, positions in zip(symbols, coordinates, strict=True)
    )
    return Record(name, structures, tuple(float(scale * e) for e in _floats(entry, "energies", 1)))


def _geometry(name: str, entry: Entry, scale: float) -> Record:
    numbers = _symbols(_get(entry, "atom_symbols"))
    molecule = _molecule(numbers, _floats(entry, "coordinates", 2), _charge(entry))
    return Record(name, (molecule,), roles=(REFERENCE,), info={"smiles": str(entry.get("smiles", ""))})


_WORDS = {"carbon": "C", "nitrogen": "N", "oxygen": "O", "fluorine": "F", "single": "-", "double": "=", "triple": "#"}


def _bond(name: str, entry: Entry, scale: float) -> Record:
    """A molecule with one bond marked; a bond whose length is not that of its type is left out.

    One of the published entries lists symbols and coordinates in different orders: its C=O is 1.51 Å long.
    """
    record = _geometry(name, entry, scale)
    words = [_WORDS.get(word, "") for word in re.findall("[a-z]+", name.lower())]
    said = f"{words[0]}{words[2]}{words[1]}" if len(words) == 3 else ""
    pair, length = _get(entry, "pattern_atom_indices"), float(_floats(entry, "reference_bond_distance", 0))
    if said and not fits(said, length):
        raise _Unusable(f"has a bond {said} of {length:.2f} Å; its symbols and coordinates are out of step")
    marks: dict[str, object] = {"bond": pair, "bond_length": length}
    return replace(record, info={**record.info, **marks, **({"bond_type": said} if said else {})})


def _ring(name: str, entry: Entry, scale: float) -> Record:
    record = _geometry(name, entry, scale)
    return replace(record, info={**record.info, "ring": _get(entry, "pattern_atoms")})


def _reaction(name: str, entry: Entry, scale: float) -> Record:
    structures, energies = [], []
    for key in ("reactants", "transition_state", "products"):
        part = _get(entry, key)
        if not isinstance(part, dict):
            raise _Unusable(f"has '{key}' that is not an object")
        numbers = _symbols(_get(part, "atom_symbols"))
        structures.append(_molecule(numbers, _floats(part, "coordinates", 2), _charge(entry)))
        energies.append(float(scale * _floats(part, "energy", 0)))
    return Record(name, tuple(structures), tuple(energies), roles=REACTION)


_CONFORMER_LEVEL = "DLPNO-CCSD(T)"
_SUITE_LEVEL = "ωB97M-D3(BJ)/def2-TZVPPD, single points of MLIPAudit"
LAYOUTS: Mapping[str, Layout] = {
    "NCI_Atlas.json": Layout(
        "noncovalent_interactions", _complex, "dissociation curves of the six sets of the NCI Atlas", "CCSD(T)/CBS",
        "Řezáč, J. Chem. Theory Comput. 16, 2355 (2020) and the later parts of the NCI Atlas"),
    "TorsionNet500.json": Layout(
        "dihedral_scan", _torsion, "torsion profiles of drug-like fragments", _SUITE_LEVEL,
        "Rai et al., J. Chem. Inf. Model. 62, 785 (2022)"),
    "folmsbee_dataset.json": Layout(
        "conformer_selection", _conformers, "near-minimum conformers of drug-like molecules", _CONFORMER_LEVEL,
        "Folmsbee and Hutchison, Int. J. Quantum Chem. 121, e26381 (2021)"),
    "wiggle150_dataset.json": Layout(
        "conformer_selection", _conformers, "strained conformers of three drug molecules", "DLPNO-CCSD(T)/CBS",
        "Brew et al., J. Chem. Theory Comput. (2025), 10.1021/acs.jctc.5c00015"),
    "tautobase_2792.json": Layout(
        "tautomers", _tautomers, "pairs of tautomers from Tautobase", _SUITE_LEVEL,
        "Wahl and Sander, J. Chem. Inf. Model. 60, 1085 (2020)", unit="eV"),
    "openff_n200_neutral.json": Layout(
        "reference_geometry", _geometry, "neutral molecules of the OpenFF industry set", "B3LYP-D3BJ/DZVP minima",
        "D'Amore et al., J. Chem. Inf. Model. 62, 6094 (2022)"),
    "openff_n20_charged.json": Layout(
        "reference_geometry", _geometry, "ions of the OpenFF industry set", "B3LYP-D3BJ/DZVP minima",
        "D'Amore et al., J. Chem. Inf. Model. 62, 6094 (2022)"),
    "grambow_dataset.json": Layout(
        "reactions", _reaction, "reactions of small organic molecules", "ωB97X-D3/def2-TZVP",
        "Grambow, Pattanaik and Green, Sci. Data 7, 137 (2020)", use="tst"),
    "grambow_dataset_neb.json": Layout(
        "reactions", _reaction, "reactions of small organic molecules, for bands", "ωB97X-D3/def2-TZVP",
        "Grambow, Pattanaik and Green, Sci. Data 7, 137 (2020)", use="neb"),
    "bond_length_distribution.json": Layout(
        "bonds", _bond, "one bond of each of eight types", "B3LYP/6-31G(2df,p) minima",
        "Ramakrishnan et al., Sci. Data 1, 140022 (2014)"),
    "ring_planarity_data.json": Layout(
        "rings", _ring, "six aromatic molecules", "B3LYP/6-31G(2df,p) minima",
        "Ramakrishnan et al., Sci. Data 1, 140022 (2014)"),
}  # fmt: skip
"""File names of the layout, as of MLIPAudit 0.1.8."""
