"""Neuroevolution potentials (NEP) through calorine: NEP89, and any nep.txt of the user's own by `nep:FILE`.

calorine's ASE calculator reads the parameter file again whenever the number of atoms changes (half a second for NEP89)
and knows cells that are periodic in all three directions only. Here its compiled code is called directly, is kept for
each number of atoms, and gets a box with enough vacuum along directions that are not periodic. That is exact, because
these potentials end at their cutoff.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model, ModelCard
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "nep"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[nep]'"
KINDS = ("nep4", "nep4_zbl")
"""Kinds of NEP that end at a cutoff; those with charges or long-range dispersion do not and cannot be boxed."""

VACUUM = 1.0
"""What is added to the cutoff (Å) between an atom and the nearest image across a direction that is not periodic."""

KEPT = 32
"""For so many different numbers of atoms the parameters are held in memory, about 10 MB each for NEP89."""

THINNEST = 1e-2
"""Cells thinner than this (Å) are refused: the compiled code would loop over millions of images."""

_loading = Lock()  # the loader prints, and redirecting what is printed is not safe in threads


@dataclass(frozen=True)
class Header:
    """The first lines of a nep.txt: its elements in their order, and the cutoff (Å) beyond which nothing interacts."""

    symbols: tuple[str, ...]
    cutoff: float


def read_header(path: Path) -> Header:
    """What the first lines of a nep.txt say; an `AssayError` if it is something else."""
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
        raise AssayError(f"'{path.name}' is a damaged NEP file: its first lines name no elements or cutoff") from error


class Potential:
    """The compiled potential of one nep.txt, loaded once for each number of atoms."""

    def __init__(self, path: Path) -> None:
        from ase.data import atomic_numbers

        self.path, self.header = path, read_header(path)
        self._symbols = {atomic_numbers.get(symbol, 0): symbol for symbol in self.header.symbols}
        self._loaded: OrderedDict[int, Any] = OrderedDict()
        self._given: dict[int, bytes] = {}

    def __reduce__(self) -> tuple[type[Potential], tuple[Path]]:
        return Potential, (self.path,)  # compiled objects cannot be copied; a copy loads its own

    def evaluate(
        self, numbers: NDArray[np.int64], positions: Floats, cell: Floats, pbc: Sequence[bool]
    ) -> tuple[Floats, Floats, Floats]:
        """Energies of the atoms (eV), forces (eV/Å) and the virial (eV, 3×3)."""
        places, box = boxed(positions, cell, pbc, self.header.cutoff + VACUUM)
        compiled = self._compiled(numbers)
        compiled.set_cell(box.T.ravel().tolist())
        compiled.set_positions(places.T.ravel().tolist())
        energies, forces, virials = compiled.get_potential_forces_and_virials()
        virial = np.array(virials).reshape(9, -1).sum(axis=1).reshape(3, 3)
        return np.array(energies), np.array(forces).reshape(3, -1).T.copy(), virial

    def _compiled(self, numbers: NDArray[np.int64]) -> Any:
        """The compiled potential for these elements in this order."""
        count, key = len(numbers), np.asarray(numbers, dtype=np.int64).tobytes()
        if self._given.get(count) != key:
            if unknown := sorted(set(numbers.tolist()) - set(self._symbols)):
                raise ModelFailure(f"'{self.path.name}' has no parameters for atomic number {unknown[0]}")
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
        from _nepy import NEPY

        count = len(symbols)
        with _loading, redirect_stdout(io.StringIO()):
            return NEPY(str(self.path), count, [1.0, 0, 0, 0, 1, 0, 0, 0, 1], symbols, [0.0] * 3 * count, [1.0] * count)

    def check(self) -> None:
        """An `AssayError` if the file cannot be loaded."""
        try:
            self._load([self.header.symbols[0]])
        except (RuntimeError, ValueError) as error:
            raise AssayError(f"'{self.path.name}' is a damaged NEP file: {error}") from error


def boxed(positions: Floats, cell: Floats, pbc: Sequence[bool], margin: float) -> tuple[Floats, Floats]:
    """Atoms inside a cell that is periodic in all directions, with `margin` (Å) of vacuum along the others."""
    if not (np.isfinite(positions).all() and np.isfinite(cell).all()):
        raise ModelFailure("a position or a cell vector is not a finite number")
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
    return places - np.floor(places @ inverse) @ box, box  # far outside of the cell the compiled code takes forever


def build(path: Path) -> Calculator:
    """An ASE calculator for a nep.txt; stress is given where the cell has a volume."""
    from ase.calculators.calculator import Calculator, all_changes

    class NEP(Calculator):
        implemented_properties = ["energy", "energies", "forces", "stress"]  # noqa: RUF012
        as_used = {"precision": "float64", "device": "cpu"}  # noqa: RUF012

        def __init__(self, potential: Potential) -> None:
            super().__init__()
            self.potential = potential

        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            super().calculate(atoms, properties or ["energy"], system_changes)
            given = self.atoms
            energies, forces, virial = self.potential.evaluate(
                given.numbers, given.positions, given.cell.array, given.pbc
            )
            self.results = {"energy": float(energies.sum()), "energies": energies, "forces": forces}
            if given.cell.rank == 3:
                stress = -(virial + virial.T) / 2.0 / given.cell.volume
                self.results["stress"] = stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]

    return NEP(Potential(path))


class NepBatch:
    """Many structures, one after the other without ASE in between; a structure that is refused gives NaN."""

    def __init__(self, potential: Potential) -> None:
        self.potential = potential

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        answers: dict[int, tuple[float, Floats]] = {}
        for index in sorted(range(len(structures)), key=lambda i: len(structures[i])):
            s = structures[index]
            try:
                energies, forces, _ = self.potential.evaluate(s.numbers, s.positions, s.cell, s.pbc)
                answers[index] = (float(energies.sum()), forces)
            except (ModelFailure, RuntimeError):  # Assay asks the calculator alone, which says why
                answers[index] = (np.nan, np.full((len(s), 3), np.nan))
        return [answers[index] for index in range(len(structures))]


def build_batch(path: Path) -> NepBatch:
    """A batch evaluator for a nep.txt."""
    return NepBatch(Potential(path))


def open_model(rest: str, device: str | None = None) -> Model:
    """The model of a user's own nep.txt, as in `nep:FILE`."""
    from importlib.util import find_spec

    from ase.data import atomic_numbers

    path = checkpoint_file(SCHEME, rest)
    symbols = read_header(path).symbols
    if unknown := [symbol for symbol in symbols if symbol not in atomic_numbers]:
        raise AssayError(f"'{path.name}' names '{unknown[0]}', which is not a chemical element")
    if find_spec("calorine") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs calorine; install it: {INSTALL}")
    Potential(path).check()
    card = checkpoint_card(SCHEME, path, **CLAIMS, elements=sorted(atomic_numbers[symbol] for symbol in symbols))
    return checkpoint_model(card, path, build, build_batch, device)


CLAIMS: dict[str, Any] = {
    "pbc": ("FFF", *PERIODIC_PATTERNS),
    "charge": False,
    "spin": False,
    "precision": "float64",
    "packages": ("calorine",),
}

MODELS = {
    "nep89": Registered(
        ModelCard(
            "nep89",
            elements=(*range(1, 84), *range(89, 95)),
            theory="neuroevolution potential with ZBL repulsion, trained on density-functional data near PBE-D3",
            licence="GPL-3.0 (NepTrainKit, which carries the parameters); MPL-2.0 (calorine)",
            description="NEP89 for 89 elements, H to Bi and Ac to Pu; very quick on a CPU",
            notes=("Directions that are not periodic get vacuum beyond the 6 Å cutoff, which changes no number.",),
            **CLAIMS,
        ),
        build,
        imports=("calorine",),
        install=INSTALL,
        settings={"vacuum": VACUUM},
        weights=PackagedFile(
            "neptrainkit",
            "2.5.4",
            "NepTrainKit/Config/nep89.txt",
            sha256="75168ece02e840e4a32644f982b78d43cba697f5b64b4c8134ab66c7a8c28be1",
            archive_sha256="ae5c607acd8f4e0384e2d7579225054aa5dff0fe6ab61ed0226922963a42dfe9",
            python="3.11",
            platform="manylinux2014_x86_64",
        ),
        build_batch=build_batch,
    )
}
