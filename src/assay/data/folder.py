"""Assay's own layout of a data set: a folder with `data.toml` and one or more extended XYZ files.

`data.toml` describes the set; the comment line of every frame names the record that the frame belongs to. The sets that
come with Assay have this layout, and `--data DIR` reads a folder of the user. Files are treated as untrusted text.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any

from assay.data.dataset import YOURS, Card, DataSet, Record
from assay.data.energy_units import ENERGY_UNITS, check_energy_unit, electronvolts
from assay.data.kinds import KINDS, Kind, find_kind
from assay.data.xyz import Frame, read_frames
from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.structure import Structure
from assay.text import one_line

CARD = "data.toml"
LARGEST = 2**29
"""Largest size of a file (bytes)."""

REQUIRED = ("name", "kind", "level")
OPTIONAL = ("what", "licence", "citation", "source", "energy_unit")
KEYS = ("smiles", "use", "unusual")
"""Keys of `[records.NAME]` for all kinds of data; each kind adds its own."""

Infos = Mapping[str, Mapping[str, object]]
_RECORD = re.compile(r"""^.*\brecord=("[^"]*"|\S+)""", re.MULTILINE)


def read_folder(folder: Path, lane: str = YOURS) -> DataSet:
    """Read the data set in a folder; the error for wrong data names the file and the record."""
    card = read_card(folder, lane)
    infos = _table(folder)[1]
    files = _structure_files(folder)
    frames = [(f, frame) for f in files for frame in read_frames(_text(f), f"'{f}'")]
    groups: dict[str, list[tuple[Path, Frame]]] = {}
    for file, frame in frames:
        groups.setdefault(_record_name(file, frame), []).append((file, frame))
    _same_names(folder, groups, infos)
    scale = _scale(folder, card, frames)
    kind = find_kind(card.kind)
    records = tuple(_record(kind, name, group, infos.get(name, {}), scale) for name, group in groups.items())
    return DataSet(card, records)


def read_card(folder: Path, lane: str = YOURS) -> Card:
    """The card from `data.toml`, with the size and sha256 of the set. The structures are not parsed, which is fast."""
    texts, _ = _table(folder)
    unit = texts["energy_unit"]
    stated = {key: texts[key] or "not stated" for key in ("what", "licence", "citation", "source")}
    return Card(texts["name"], texts["kind"], level=texts["level"], lane=lane, units=f"{unit}, Å" if unit else "Å",
                size=_size(folder), sha256=_sha256([folder / CARD, *_structure_files(folder)]), **stated)  # fmt: skip


def _table(folder: Path) -> tuple[dict[str, str], Infos]:
    """The texts of `data.toml` (all keys are present) and its tables of records, both checked."""
    path = folder / CARD
    if not path.is_file():
        raise AssayError(f"there is no '{CARD}' in '{folder}'; it must give the name, kind and level of the data")
    table = _toml(path)
    for key in table:
        if key not in (*REQUIRED, *OPTIONAL, "records"):
            raise AssayError(f"'{path}' has the unknown key '{key}'{did_you_mean(key, REQUIRED + OPTIONAL)}")
    texts = {key: table.get(key, "") for key in REQUIRED + OPTIONAL}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise AssayError(f"'{key}' in '{path}' must be text in quotes")
        if key in REQUIRED and not value.strip():
            raise AssayError(f"'{path}' lacks the key '{key}'; the keys {', '.join(REQUIRED)} are needed")
    try:
        find_kind(texts["kind"])
        check_energy_unit(texts["energy_unit"] or "eV")
    except AssayError as error:
        raise AssayError(f"'{path}' cannot be used: {error}") from error
    infos = table.get("records", {})
    _check_infos(path, infos)
    return texts, infos


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except RecursionError as error:
        raise AssayError(f"'{path}' is not valid TOML: its values are nested too deeply") from error
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise AssayError(f"'{path}' is not valid TOML: {one_line(str(error))}") from error


def _check_infos(path: Path, infos: object) -> None:
    if not isinstance(infos, dict) or not all(isinstance(info, dict) for info in infos.values()):
        raise AssayError(f"'records' in '{path}' must be tables, one [records.NAME] for each record")
    keys = (*KEYS, *(key for kind in KINDS.values() for key in kind.keys))
    for name, info in infos.items():
        for key in info:
            # Users may add keys of their own, but a key that is almost one of ours is probably misspelt.
            close = [] if key in keys else get_close_matches(key, keys, n=1, cutoff=0.8)
            if close:
                raise AssayError(f"record '{name}' in '{path}' has a key '{key}'; did you mean '{close[0]}'?")


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise AssayError(f"'{path}' has {size} bytes, and at most {LARGEST} are read; split the file")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AssayError(f"'{path}' is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise AssayError(f"'{path}' cannot be read ({error.strerror or error})") from error


def _structure_files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.glob("*.xyz") if path.is_file())
    if not files:
        raise AssayError(f"there is no .xyz file next to '{folder / CARD}'; add one with the structures")
    return files


def _sha256(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _size(folder: Path) -> str:
    names = [name.strip('"') for file in _structure_files(folder) for name in _RECORD.findall(_text(file))]
    return f"{len(set(names))} records, {len(names)} structures"


def _record_name(file: Path, frame: Frame) -> str:
    name = frame.keys.get("record", "")
    if not name:
        raise AssayError(f"the frame on line {frame.line} of '{file}' lacks 'record='; add the name of its record")
    return name


def _same_names(folder: Path, groups: Mapping[str, object], infos: Mapping[str, object]) -> None:
    lost = [name for name in infos if name not in groups]
    if lost:
        hint = did_you_mean(lost[0], groups)
        raise AssayError(f"'{folder / CARD}' describes a record '{lost[0]}' that has no frames{hint}")
    if not groups:
        raise AssayError(f"the .xyz files in '{folder}' contain no frames")


def _scale(folder: Path, card: Card, frames: Sequence[tuple[Path, Frame]]) -> float:
    """The energy unit of the files in eV."""
    if not any("reference_energy" in frame.keys for _, frame in frames):
        return 1.0
    unit, separator, _ = card.units.partition(",")
    if not separator:
        units = ", ".join(ENERGY_UNITS)
        raise AssayError(f"'{folder / CARD}' lacks the key 'energy_unit' for its energies; choose from {units}")
    return electronvolts(unit)


def _record(kind: Kind, name: str, group: list[tuple[Path, Frame]], info: Mapping[str, object], scale: float) -> Record:
    """The frames of one name as a record that fulfils the rules of its kind."""
    file, first = group[0]
    where = f"record '{name}' in '{file}' (line {first.line})"
    _adjacent(name, group)
    structures = tuple(_structure(file, frame) for file, frame in group)
    energies = _numbers(where, group, "reference_energy")
    coordinates = _numbers(where, group, "coordinate")
    roles = tuple(frame.keys.get("role", "") for _, frame in group)
    if roles == ("",):
        roles = (kind.single_role,)
    scaled = None if energies is None else tuple(scale * energy for energy in energies)
    record = Record(name, structures, scaled, coordinates, roles if any(roles) else (), dict(info))
    if reason := kind.complaint(record):
        raise AssayError(f"{where} {reason}")
    return record


def _adjacent(name: str, group: list[tuple[Path, Frame]]) -> None:
    """The frames of a record follow each other; otherwise two records have the same name by mistake."""
    files = {file for file, _ in group}
    if len(files) > 1:
        one, other = sorted(files)[:2]
        raise AssayError(f"the record '{name}' is in '{one}' and in '{other}'; give each record its own name")
    for (file, before), (_, after) in pairwise(group):
        if after.line != before.line + 2 + len(before.structure):
            raise AssayError(
                f"the record '{name}' occurs twice in '{file}' (lines {group[0][1].line} and {after.line}); "
                "put its frames together, or give each record its own name"
            )


def _structure(file: Path, frame: Frame) -> Structure:
    whole: dict[str, int | None] = {}
    for key in ("charge", "spin"):
        text = frame.keys.get(key)
        if text is not None and not re.fullmatch(r"[+-]?\d{1,4}(\.0+)?", text):
            raise AssayError(f"'{key}={text[:20]}' in the frame on line {frame.line} of '{file}' is not a whole number")
        whole[key] = None if text is None else int(float(text))
    if whole["spin"] is not None and whole["spin"] < 1:
        raise AssayError(f"'spin' in the frame on line {frame.line} of '{file}' is a multiplicity, which is at least 1")
    return replace(frame.structure, charge=whole["charge"], spin=whole["spin"])


def _numbers(where: str, group: list[tuple[Path, Frame]], key: str) -> tuple[float, ...] | None:
    given = [(frame.line, frame.keys[key]) for _, frame in group if key in frame.keys]
    if not given:
        return None
    if len(given) != len(group):
        raise AssayError(f"{where} has '{key}' in {len(given)} of its {len(group)} frames; give it in all or in none")
    values = []
    for line, text in given:
        try:
            values.append(float(text))
        except ValueError as error:
            raise AssayError(f"{where} has '{key}={text[:20]}' on line {line + 1}, which is not a number") from error
    return tuple(values)
