"""The compiled potential of a NEP parameter file (nep.txt), called without ASE.

The ASE calculator of calorine reads the file again whenever the number of atoms changes (0.5 s for NEP89), and supports
only cells that are periodic in all three directions. Here the compiled code is kept for each number of atoms. Along
directions that are not periodic it gets a box with vacuum, which is exact because the potential ends at its cutoff.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.models._claims import require_elements
from assay.models.neighbours import Integers
from assay.structure import Floats

KINDS = ("nep4", "nep4_zbl")
"""Kinds of NEP that end at a cutoff. Those with charges or long-range dispersion do not; a box would change them."""

VACUUM = 1.0
"""Added to the cutoff (Å) between an atom and its images along directions that are not periodic."""

KEPT = 32
"""Compiled potentials that are kept, one for each number of atoms; about 10 MB each for NEP89."""

THINNEST = 1e-2
"""Thinner cells (Å) are refused: the compiled code would go through millions of periodic images."""

_loading = Lock()  # what the loader prints is redirected, which is not safe in several threads at once


@dataclass(frozen=True)
class Header:
    """The first lines of a nep.txt: its elements in their order, and the cutoff (Å) of all interactions."""

    symbols: tuple[str, ...]
    cutoff: float


def read_header(path: Path) -> Header:
    """The elements and the cutoff of a nep.txt; an `AssayError` if the file is something else."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        lines = [stream.readline(10_000).split() or [""] for _ in range(3)]
    kind, symbols = lines[0][0], tuple(lines[0][2:])
    if not kind.startswith("nep"):
        raise AssayError(
            f"'{path.name}' is not a NEP file: it begins with '{kind[:20]}', expected {' or '.join(KINDS)}"
        )
    if kind not in KINDS:
        raise AssayError(f"'{path.name}' holds a NEP of kind '{kind}'; Assay can open {' and '.join(KINDS)}")
    cutoff = next((line for line in lines[1:] if line[0] == "cutoff"), [])
    try:
        if not symbols or int(lines[0][1]) != len(symbols):
            raise ValueError
        return Header(symbols, max(float(length) for length in cutoff[1:-2]))
    except ValueError as error:
        raise AssayError(
            f"'{path.name}' is a damaged NEP file: its first lines name no elements or no cutoff; copy it again"
        ) from error


class Potential:
    """The compiled potential of one nep.txt, loaded once for each number of atoms."""

    def __init__(self, path: Path) -> None:
        from ase.data import atomic_numbers

        self.path, self.header = path, read_header(path)
        self._symbols = {atomic_numbers.get(symbol, 0): symbol for symbol in self.header.symbols}
        self._loaded: OrderedDict[int, Any] = OrderedDict()
        self._given: dict[int, bytes] = {}

    def __reduce__(self) -> tuple[type[Potential], tuple[Path]]:
        return Potential, (self.path,)  # compiled objects cannot be copied; a copy loads the file again

    def evaluate(
        self, numbers: Integers, positions: Floats, cell: Floats, pbc: Sequence[bool]
    ) -> tuple[Floats, Floats, Floats]:
        """Energies of the atoms (eV), forces (eV/Å) and the virial (eV, 3 × 3)."""
        places, box = periodic_box(positions, cell, pbc, self.header.cutoff + VACUUM)
        compiled = self._compiled(numbers)
        compiled.set_cell(box.T.ravel().tolist())
        compiled.set_positions(places.T.ravel().tolist())
        energies, forces, virials = compiled.get_potential_forces_and_virials()
        virial = np.array(virials).reshape(9, -1).sum(axis=1).reshape(3, 3)
        return np.array(energies), np.array(forces).reshape(3, -1).T.copy(), virial

    def _compiled(self, numbers: Integers) -> Any:
        """The compiled potential for these elements in this order."""
        count, key = len(numbers), np.asarray(numbers, dtype=np.int64).tobytes()
        if self._given.get(count) != key:
            require_elements(numbers.tolist(), self._symbols, f"'{self.path.name}'")
            symbols = [self._symbols[number] for number in numbers.tolist()]
            if count in self._loaded:
                self._loaded[count].set_symbols(symbols)
            else:
                self._loaded[count] = self._load(symbols)
                if len(self._loaded) > KEPT:
                    self._given.pop(self._loaded.popitem(last=False)[0])
            self._given[count] = key
        self._loaded.move_to_end(count)
        return self._loaded[count]

    def _load(self, symbols: list[str]) -> Any:
        """The compiled potential for atoms of these elements, at positions that are set later."""
        from _nepy import NEPY

        count = len(symbols)
        with _loading, redirect_stdout(io.StringIO()):
            return NEPY(str(self.path), count, [1.0, 0, 0, 0, 1, 0, 0, 0, 1], symbols, [0.0] * 3 * count, [1.0] * count)

    def check(self) -> None:
        """Raise an `AssayError` if the file cannot be loaded."""
        try:
            self._load([self.header.symbols[0]])
        except (RuntimeError, ValueError) as error:
            raise AssayError(f"'{self.path.name}' is a damaged NEP file ({error}); copy it again") from error


def periodic_box(positions: Floats, cell: Floats, pbc: Sequence[bool], margin: float) -> tuple[Floats, Floats]:
    """Positions inside a cell that is periodic in all directions, and this cell.

    Along directions that are not periodic, `margin` (Å) is the distance between an atom and the images of all others.
    """
    if not (np.isfinite(positions).all() and np.isfinite(cell).all()):
        raise ModelFailure("a position or a cell vector is NaN or infinite")
    if not any(pbc):
        inside = positions - positions.min(axis=0)
        return inside, np.diag(inside.max(axis=0) + margin)
    box, places = np.array(cell, dtype=float), positions
    if not all(pbc):
        periodic = np.array(pbc)
        across = np.linalg.svd(box[periodic])[2][int(periodic.sum()) :]  # unit vectors normal to the periodic ones
        heights = positions @ across.T
        places = positions - heights.min(axis=0) @ across
        box[~periodic] = across * (np.ptp(heights, axis=0) + margin)[:, None]
    try:
        inverse = np.linalg.inv(box)
    except np.linalg.LinAlgError:
        inverse = np.full((3, 3), np.inf)
    if not np.linalg.norm(inverse, axis=0).max() < 1.0 / THINNEST:
        raise ModelFailure(f"the cell is thinner than {THINNEST} Å along a periodic direction")
    # The compiled code is very slow if atoms lie far outside of the cell.
    return places - np.floor(places @ inverse) @ box, box
