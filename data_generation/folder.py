"""Write a data set as a folder with the files `data.toml` and `structures.xyz`, as Assay reads it."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ase import Atoms
from ase.io import iread
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


@dataclass(frozen=True)
class Task:
    """How a record is made. `recipe` is the part of its plain data that must not differ in a record made before."""

    make: Callable[[], Entry]
    recipe: Mapping[str, object]

    def made(self, entry: Entry) -> bool:
        """True if the record was made by this recipe."""
        return all(entry.info.get(key) == value for key, value in self.recipe.items())


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


def read(name: str) -> dict[str, Entry]:
    """The records of a set that was written before; if they are written again, the files do not change."""
    folder = SETS / name
    if not (folder / "data.toml").exists():
        return {}
    told = tomllib.loads((folder / "data.toml").read_text(encoding="utf-8")).get("records", {})
    groups: dict[str, list[Frame]] = {}
    for atoms in iread(folder / "structures.xyz", index=":"):
        keys = atoms.info
        frame = Frame(atoms, keys["reference_energy"], keys.get("coordinate"), keys.get("role"))
        groups.setdefault(keys["record"], []).append(frame)
    return {record: Entry(record, tuple(frames), told.get(record, {})) for record, frames in groups.items()}


def generate(name: str, card: Mapping[str, str], tasks: Mapping[str, Task]) -> None:
    """Make records and write the set after each, in the order of the tasks.

    A record of the set stays as it is unless it is named with `--only` or its recipe changed. A record that cannot be
    made is reported, and its older version, if there is one of the same recipe, stays.
    """
    options = argparse.ArgumentParser()
    options.add_argument("--first", type=int, default=len(tasks), help="make only records among the first N")
    options.add_argument("--only", nargs="+", choices=tasks, help="make these records, even those in the set already")
    options.add_argument("--dry", action="store_true", help="write nothing")
    asked = options.parse_args()
    entries = {record: entry for record, entry in read(name).items() if record in tasks and tasks[record].made(entry)}
    for record in asked.only or [record for record in list(tasks)[: asked.first] if record not in entries]:
        try:
            entries[record] = tasks[record].make()
            print(f"{record}: made", flush=True)
        except Exception as error:
            print(f"{record}: left out, {type(error).__name__}: {error}", flush=True)
        if entries and not asked.dry:
            write(name, card, [entries[one] for one in tasks if one in entries])


def cost() -> float:
    """CPU time (s) of all results in the cache."""
    files = FOLDER.glob("*.json")
    return sum(json.loads(path.read_text(encoding="utf-8")).get("cpu_seconds", 0.0) for path in files)
