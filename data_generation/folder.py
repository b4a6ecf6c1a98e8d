"""Write a data set as a folder with the files `data.toml` and `structures.xyz`, as Assay reads it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ase import Atoms
from cache import FOLDER

SETS = Path(__file__).parents[1] / "src" / "assay" / "data" / "sets"


@dataclass(frozen=True)
class Frame:
    """One structure with its energy (eV) and, if there are any, its coordinate on a scan and its role."""

    atoms: Atoms
    energy: float
    coordinate: float | None = None
    role: str | None = None


@dataclass(frozen=True)
class Entry:
    """One record: its frames, and plain data about it."""

    id: str
    frames: tuple[Frame, ...]
    info: Mapping[str, object] = field(default_factory=dict)


def write(name: str, card: Mapping[str, str], entries: Iterable[Entry]) -> None:
    """Write both files; their text depends only on the data."""
    folder = SETS / name
    folder.mkdir(parents=True, exist_ok=True)
    entries = list(entries)
    lines = [f"{key} = {_toml(value)}" for key, value in ({"name": name} | dict(card) | {"energy_unit": "eV"}).items()]
    for entry in entries:
        lines += ["", f"[records.{entry.id}]"] + [f"{key} = {_toml(value)}" for key, value in entry.info.items()]
    (folder / "data.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    frames = [_xyz(entry.id, frame) for entry in entries for frame in entry.frames]
    (folder / "structures.xyz").write_text("".join(frames), encoding="utf-8")


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _xyz(record: str, frame: Frame) -> str:
    keys = {"record": record, "role": frame.role, "coordinate": frame.coordinate}
    given = "".join(f"{key}={value} " for key, value in keys.items() if value is not None)
    comment = (
        f"Properties=species:S:1:pos:R:3 {given}reference_energy={frame.energy:.6f} "
        f'charge={frame.atoms.info["charge"]} spin=1 pbc="F F F"'
    )
    rows = [
        f"{symbol:2s} {x:11.6f} {y:11.6f} {z:11.6f}\n"
        for symbol, (x, y, z) in zip(frame.atoms.get_chemical_symbols(), frame.atoms.positions, strict=True)
    ]
    return f"{len(frame.atoms)}\n{comment}\n{''.join(rows)}"


def generate(name: str, card: Mapping[str, str], tasks: Mapping[str, Callable[[], Entry]]) -> None:
    """Make the records one by one and write the set after each; a record that fails is reported and left out."""
    options = argparse.ArgumentParser()
    options.add_argument("--first", type=int, default=len(tasks), help="make only the first N records")
    options.add_argument("--only", nargs="*", help="names of records")
    options.add_argument("--dry", action="store_true", help="write nothing")
    asked = options.parse_args()
    entries: list[Entry] = []
    for record, task in list(tasks.items())[: asked.first]:
        if asked.only and record not in asked.only:
            continue
        try:
            entries.append(task())
            print(f"{record}: made", flush=True)
        except Exception as error:
            print(f"{record}: left out, {type(error).__name__}: {error}", flush=True)
        if entries and not asked.dry:
            write(name, card, entries)


def cost() -> float:
    """CPU time (s) of all results in the cache."""
    files = FOLDER.glob("*.json")
    return sum(json.loads(path.read_text(encoding="utf-8")).get("cpu_seconds", 0.0) for path in files)
