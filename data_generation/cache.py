"""Results of long calculations are kept on disk, so that a run that was stopped can be continued.

The folder is `data_generation/.cache`, or that in the environment variable `ASSAY_GENERATION_CACHE`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

FOLDER = Path(os.environ.get("ASSAY_GENERATION_CACHE", Path(__file__).parent / ".cache"))


def rounded(atoms: Atoms) -> Atoms:
    """A copy with positions rounded to 1e-6 Å, so that the energy belongs exactly to the structure in the file."""
    return Atoms(atoms.numbers, np.round(atoms.positions, 6) + 0.0, info={"charge": atoms.info.get("charge", 0)})


def digest(*parts: object) -> str:
    """Short hash of text, numbers and structures."""
    words = [_words(part) for part in parts]
    return hashlib.sha256("|".join(words).encode()).hexdigest()[:24]


def _words(part: object) -> str:
    if isinstance(part, Atoms):
        return f"{part.numbers.tolist()} {np.round(part.positions, 6).tolist()} {part.info.get('charge', 0)}"
    return repr(part)


def remembered(key: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute` from the disk if there is one under this key, or else a new one."""
    path = FOLDER / f"{key}.json"
    if path.exists():
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return stored
    result = compute()
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(result), encoding="utf-8")
    part.replace(path)
    return result


def remembered_structures(key: str, compute: Callable[[], list[Atoms]]) -> list[Atoms]:
    """The same for structures of one molecule. A second geometry search may differ in the last digits."""

    def plain() -> dict[str, Any]:
        made = compute()
        return {
            "numbers": made[0].numbers.tolist(),
            "charge": made[0].info["charge"],
            "positions": [one.positions.tolist() for one in made],
        }

    stored = remembered(key, plain)
    info = {"charge": stored["charge"]}
    return [Atoms(stored["numbers"], positions, info=dict(info)) for positions in stored["positions"]]
