"""The published files of the Non-Covalent Interactions Atlas: a zip of XYZ files, one for each complex and distance.

The comment line of each file gives the charges, the atoms of each molecule (counted from 1), the distance divided by
the distance at the minimum, and the interaction energy.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from assay.data.archives import read_members
from assay.data.dataset import Card, DataSet, Record
from assay.data.energy_units import electronvolts
from assay.data.kinds import find_kind
from assay.data.xyz import Frame, read_frames
from assay.errors import AssayError

_FILE = re.compile(r"(?:^|/)geometries/(?:.*/)?([^/]+)_\d{2,3}\.xyz$")


def read_nci_atlas(archive: Path, card: Card) -> list[DataSet]:
    """One set of the atlas; complexes that cannot be used are left out with a remark."""
    files = read_members(archive, f"'{card.name}'", lambda name: _FILE.search(name) is not None)
    curves: dict[str, list[Frame]] = {}
    for name in sorted(files):
        match = _FILE.search(name)
        text = files[name].decode("utf-8", errors="replace")
        frames = list(read_frames(text, f"'{name}' in '{archive}'"))
        curves.setdefault(match[1] if match else name, []).extend(frames)
    records: list[Record] = []
    remarks: list[str] = []
    for name, frames in curves.items():
        record = _record(name, frames, card)
        reason = record if isinstance(record, str) else find_kind(card.kind).complaint(record)
        if reason:
            remarks.append(f"record '{name}' of '{card.name}' {reason} and is left out")
        elif isinstance(record, Record):
            records.append(record)
    if not records:
        raise AssayError(f"there is no usable record in '{archive}' ({remarks[0] if remarks else 'no XYZ files'})")
    return [DataSet(card, tuple(records), tuple(remarks))]


def _record(name: str, frames: list[Frame], card: Card) -> Record | str:
    """A curve sorted by distance, or what is wrong with it, as words that follow its name."""
    try:
        ordered = sorted(frames, key=lambda frame: float(frame.keys["scaling"]))
        keys = ordered[0].keys
        scale = electronvolts(keys["benchmark_unit"])
        charge = int(float(keys["charge"]))
        info = {
            "group": f"{card.name} {keys.get('group', '')}".strip(),
            "repulsive": card.name == "nci-r739x5",
            "atoms_a": _atoms(keys["selection_a"]),
            "atoms_b": _atoms(keys["selection_b"]),
            "charge_a": int(float(keys["charge_a"])),
            "charge_b": int(float(keys["charge_b"])),
        }
        energies = tuple(scale * float(frame.keys["benchmark_Eint"]) for frame in ordered)
        distances = tuple(float(frame.keys["scaling"]) for frame in ordered)
    except KeyError as error:
        return f"lacks the key {error}"
    except (ValueError, AssayError) as error:
        return f"has a comment line that cannot be read ({error})"
    structures = tuple(replace(frame.structure, charge=charge, spin=1) for frame in ordered)
    return Record(name, structures, energies, distances, info=info)


def _atoms(selection: str) -> list[int]:
    """Indices from 0 of a selection that is counted from 1: "1-2,5" gives [0, 1, 4]."""
    atoms: list[int] = []
    for piece in selection.split(","):
        first, _, last = piece.partition("-")
        atoms += range(int(first) - 1, int(last or first))
    return atoms
