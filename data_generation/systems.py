"""Write and read sets of single structures without energies, in a folder as Assay reads it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ase import Atoms
from ase.io import iread
from folder import SETS


@dataclass(frozen=True)
class System:
    """One structure, with its charge in `atoms.info`, and plain data about it."""

    id: str
    atoms: Atoms
    info: Mapping[str, object] = field(default_factory=dict)


def write_systems(name: str, card: Mapping[str, str], systems: Iterable[System]) -> None:
    """Write `data.toml` and `structures.xyz`; their text depends only on the data."""
    folder = SETS / name
    folder.mkdir(parents=True, exist_ok=True)
    systems = list(systems)
    lines = [f"{key} = {_toml(value)}" for key, value in ({"name": name} | dict(card)).items()]
    for system in systems:
        lines += ["", f"[records.{system.id}]"] + [f"{key} = {_toml(value)}" for key, value in system.info.items()]
    (folder / "data.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "structures.xyz").write_text("".join(map(_xyz, systems)), encoding="utf-8")


def read_systems(name: str) -> list[System]:
    """The systems of a set that was written before; if they are written again, the files do not change."""
    folder = SETS / name
    told = tomllib.loads((folder / "data.toml").read_text(encoding="utf-8")).get("records", {})
    frames = iread(folder / "structures.xyz", index=":")
    return [System(atoms.info["record"], atoms, told.get(atoms.info["record"], {})) for atoms in frames]


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _xyz(system: System) -> str:
    atoms = system.atoms
    periodic = bool(atoms.pbc.all())
    lattice = " ".join(f"{x:.4f}" for x in atoms.cell.array.ravel())
    box = f'Lattice="{lattice}" pbc="T T T"' if periodic else 'pbc="F F F"'
    comment = f"Properties=species:S:1:pos:R:3 record={system.id} charge={atoms.info['charge']} spin=1 {box}"
    rows = [
        f"{symbol:2s} {x:10.4f} {y:10.4f} {z:10.4f}\n"
        for symbol, (x, y, z) in zip(atoms.get_chemical_symbols(), atoms.positions, strict=True)
    ]
    return f"{len(atoms)}\n{comment}\n{''.join(rows)}"
