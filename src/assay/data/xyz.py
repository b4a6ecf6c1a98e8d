"""Plain and extended XYZ files: a number of atoms, a comment line of `key=value`, and one line for each atom.

Values stay text, so that a record with the name `007` or `1.10` keeps its name. Nothing in a file is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from assay.errors import AssayError
from assay.structure import Structure

LONGEST = 100_000
"""Largest number of atoms in a frame."""

_PAIR = re.compile(r"""([A-Za-z_][\w.-]*)=(?:"([^"]*)"|'([^']*)'|(\S*))""")


@dataclass(frozen=True)
class Frame:
    """A structure of a file, with the keys of its comment line and the number of its first line."""

    line: int
    keys: Mapping[str, str]
    structure: Structure


def read_frames(text: str, where: str) -> Iterator[Frame]:
    """The frames of a file; `where` names the file in errors."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        natoms = _count(lines[at], f"{where} line {at + 1}")
        if at + 2 + natoms > len(lines):
            raise AssayError(f"{where} ends in the middle of the frame that begins on line {at + 1}; it is incomplete")
        yield _frame(lines, at, natoms, where)
        at += 2 + natoms


def _count(line: str, where: str) -> int:
    text = line.strip()
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= LONGEST and len(text) < 9):
        raise AssayError(f"{where} must be the number of atoms, but is '{text[:40]}'")
    return int(text)


def _frame(lines: list[str], at: int, natoms: int, where: str) -> Frame:
    keys = {m[1]: next((v for v in m.groups()[1:] if v is not None), "") for m in _PAIR.finditer(lines[at + 1])}
    place = f"{where} line {at + 2}"
    symbol, first = _columns(keys.get("Properties", ""), place)
    rows = [lines[at + 2 + i].split() for i in range(natoms)]
    try:
        positions = np.array([row[first : first + 3] for row in rows], dtype=float).reshape(natoms, 3)
        numbers = [_number(row[symbol]) for row in rows]
    except (ValueError, IndexError, KeyError) as error:
        raise AssayError(f"the atoms of the frame on line {at + 1} of {where} cannot be read ({error})") from error
    cell = _cell(keys.get("Lattice", ""), place)
    pbc = _periodic(keys.get("pbc"), cell is not None, place)
    structure = Structure.build(numbers, positions, cell, pbc)
    return Frame(at + 1, keys, structure)


def _columns(properties: str, where: str) -> tuple[int, int]:
    """Columns of the symbol and of x according to `Properties` of the extended format; 0 and 1 without it."""
    if not properties:
        return 0, 1
    parts, starts, column = properties.split(":"), {}, 0
    for name, width in zip(parts[0::3], parts[2::3], strict=False):
        starts[name] = column
        column += int(width[:9]) if width.isdecimal() else 1
    if not {"species", "pos"} <= starts.keys():
        raise AssayError(f"'Properties={properties[:60]}' in {where} lacks 'species' or 'pos'")
    return starts["species"], starts["pos"]


def _number(symbol: str) -> int:
    from ase.data import atomic_numbers

    number = int(symbol[:9]) if symbol.isdecimal() else int(atomic_numbers.get(symbol, 0))
    if not 0 < number < len(atomic_numbers):
        raise KeyError(f"there is no element {symbol[:20]}")
    return number


def _cell(text: str, where: str) -> list[list[float]] | None:
    if not text:
        return None
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != 9:
        raise AssayError(f"'Lattice' in {where} must be nine numbers, but is '{text[:60]}'")
    return [values[0:3], values[3:6], values[6:9]]


def _periodic(text: str | None, has_cell: bool, where: str) -> str:
    if text is None:
        return "TTT" if has_cell else "FFF"
    letters = [{"t": "T", "1": "T", "f": "F", "0": "F"}.get(word[:1].lower(), "?") for word in text.split()]
    if len(letters) != 3 or "?" in letters:
        raise AssayError(f"'pbc' in {where} must be three letters T or F, but is '{text[:40]}'")
    if "T" in letters and not has_cell:
        raise AssayError(f"'pbc' in {where} is '{text[:40]}', but the frame has no 'Lattice'")
    return "".join(letters)
