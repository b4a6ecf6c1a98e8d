"""MLIPAudit's layout: JSON files with fixed names, in one folder or in one sub-folder for each benchmark.

Energies are in kcal/mol, but in eV in the file of tautomers; coordinates are in Å. A record that cannot be used is left
out with a remark; a file that cannot be read, or has no usable record, is an error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from assay.data.dataset import YOURS, Card, DataSet, Record
from assay.data.energy_units import electronvolts
from assay.data.kinds import find_kind
from assay.data.mlipaudit_entries import (
    Entry,
    Reader,
    Unusable,
    read_bond,
    read_complex,
    read_conformers,
    read_geometry,
    read_reaction,
    read_ring,
    read_tautomers,
    read_torsion,
)
from assay.data.mlipaudit_systems import SYSTEMS, read_systems
from assay.errors import AssayError

LARGEST = 2**30
"""Largest size of a file (bytes)."""


@dataclass(frozen=True)
class Layout:
    """A file of the layout: the kind of its data, the reader of its entries, and what its card says."""

    kind: str
    read: Reader
    what: str
    level: str
    citation: str
    unit: str = "kcal/mol"
    """Unit of the energies; empty if there are none."""

    use: str = ""

    @property
    def units(self) -> str:
        """Units of energies, if there are any, and of lengths."""
        return f"{self.unit}, Å" if self.unit else "Å"


def read_files(files: Mapping[str, Callable[[], bytes]], where: str, lane: str = YOURS) -> list[DataSet]:
    """Read one data set from each file whose name belongs to the layout; other files are ignored."""
    named = {name: opener for name, opener in sorted(files.items()) if Path(name).name in LAYOUTS}
    sets = [_read_file(name, opener, f"{where}/{name}", lane) for name, opener in named.items()]
    return sets + read_systems(files, where, lane)


def layout_files(folder: Path) -> dict[str, Callable[[], bytes]]:
    """The files of the layout in a folder and its sub-folders, by their path in the folder."""
    names = (*LAYOUTS, *SYSTEMS)
    found = [path for name in names for path in (*folder.glob(name), *folder.glob(f"*/{name}")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): _opener(path) for path in found}


def _opener(path: Path) -> Callable[[], bytes]:
    def contents() -> bytes:
        try:
            if path.stat().st_size > LARGEST:
                raise AssayError(f"'{path}' has more than {LARGEST} bytes and is not read")
            return path.read_bytes()
        except OSError as error:
            raise AssayError(f"'{path}' cannot be read ({error.strerror or error})") from error

    return contents


def _read_file(name: str, opener: Callable[[], bytes], where: str, lane: str) -> DataSet:
    layout, stem = LAYOUTS[Path(name).name], Path(name).stem
    contents = opener()
    kind, scale = find_kind(layout.kind), electronvolts(layout.unit) if layout.unit else 1.0
    records: list[Record] = []
    remarks: list[str] = []
    for key, entry in _entries(contents, where):
        try:
            record = layout.read(key, entry, scale)
            record = replace(record, info={**record.info, "use": layout.use}) if layout.use else record
            reason = kind.complaint(record)
        except Unusable as error:
            reason = str(error)
        if reason:
            remarks.append(f"record '{key}' of '{where}' {reason} and is left out")
        else:
            records.append(record)
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
    """Names and entries of a file: an object of entries, or (conformers) a list of entries with a name inside."""
    try:
        document = json.loads(contents)
    except (ValueError, RecursionError) as error:
        raise AssayError(f"'{where}' is not valid JSON ({error}); download the file again") from error
    if isinstance(document, list):
        named = [(str(e.get("molecule_name", i)) if isinstance(e, dict) else str(i), e) for i, e in enumerate(document)]
        if len({name for name, _ in named}) != len(named):
            named = [(f"{name}-{i}", entry) for i, (name, entry) in enumerate(named)]
    elif isinstance(document, dict):
        named = list(document.items())
    else:
        raise AssayError(f"'{where}' must contain an object or a list of entries")
    return ((name, entry if isinstance(entry, dict) else {}) for name, entry in named)


_CONFORMER_LEVEL = "DLPNO-CCSD(T)"
_SUITE_LEVEL = "ωB97M-D3(BJ)/def2-TZVPPD, single points of MLIPAudit"
LAYOUTS: Mapping[str, Layout] = {
    "NCI_Atlas.json": Layout(
        "noncovalent_interactions", read_complex, "dissociation curves of the six sets of the NCI Atlas", "CCSD(T)/CBS",
        "Řezáč, J. Chem. Theory Comput. 16, 2355 (2020) and the later parts of the NCI Atlas"),
    "TorsionNet500.json": Layout(
        "dihedral_scan", read_torsion, "torsion profiles of drug-like fragments", _SUITE_LEVEL,
        "Rai et al., J. Chem. Inf. Model. 62, 785 (2022)"),
    "folmsbee_dataset.json": Layout(
        "conformer_selection", read_conformers, "near-minimum conformers of drug-like molecules", _CONFORMER_LEVEL,
        "Folmsbee and Hutchison, Int. J. Quantum Chem. 121, e26381 (2021)"),
    "wiggle150_dataset.json": Layout(
        "conformer_selection", read_conformers, "strained conformers of three drug molecules", "DLPNO-CCSD(T)/CBS",
        "Brew et al., J. Chem. Theory Comput. (2025), 10.1021/acs.jctc.5c00015"),
    "tautobase_2792.json": Layout(
        "tautomers", read_tautomers, "pairs of tautomers from Tautobase", _SUITE_LEVEL,
        "Wahl and Sander, J. Chem. Inf. Model. 60, 1085 (2020)", unit="eV"),
    "openff_n200_neutral.json": Layout(
        "reference_geometry", read_geometry, "neutral molecules of the OpenFF industry set", "B3LYP-D3BJ/DZVP minima",
        "D'Amore et al., J. Chem. Inf. Model. 62, 6094 (2022)"),
    "openff_n20_charged.json": Layout(
        "reference_geometry", read_geometry, "ions of the OpenFF industry set", "B3LYP-D3BJ/DZVP minima",
        "D'Amore et al., J. Chem. Inf. Model. 62, 6094 (2022)"),
    "grambow_dataset.json": Layout(
        "reactions", read_reaction, "reactions of small organic molecules", "ωB97X-D3/def2-TZVP",
        "Grambow, Pattanaik and Green, Sci. Data 7, 137 (2020)", use="tst"),
    "grambow_dataset_neb.json": Layout(
        "reactions", read_reaction, "reactions of small organic molecules, for bands", "ωB97X-D3/def2-TZVP",
        "Grambow, Pattanaik and Green, Sci. Data 7, 137 (2020)", use="neb"),
    "bond_length_distribution.json": Layout(
        "bonds", read_bond, "one bond of each of eight types", "B3LYP/6-31G(2df,p) minima",
        "Ramakrishnan et al., Sci. Data 1, 140022 (2014)", unit=""),
    "ring_planarity_data.json": Layout(
        "rings", read_ring, "six aromatic molecules", "B3LYP/6-31G(2df,p) minima",
        "Ramakrishnan et al., Sci. Data 1, 140022 (2014)", unit=""),
}  # fmt: skip
"""File names of the layout in MLIPAudit 0.1.8."""
