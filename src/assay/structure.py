"""An immutable structure: atoms, positions, cell and periodic directions, as jobs use it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from ase import Atoms

Floats = NDArray[np.float64]


def _no_cell() -> Floats:
    return np.zeros((3, 3))


@dataclass(frozen=True, eq=False)
class Structure:
    """Atoms at fixed positions (Å), with the cell (rows are lattice vectors, Å) and periodic directions.

    `charge` (e) and `spin` (multiplicity 2S + 1) are passed to the model in `atoms.info`, unless they are None.
    """

    numbers: NDArray[np.int64]
    positions: Floats
    cell: Floats = field(default_factory=_no_cell)
    pbc: tuple[bool, bool, bool] = (False, False, False)
    charge: int | None = None
    spin: int | None = None

    @classmethod
    def build(
        cls, numbers: ArrayLike, positions: ArrayLike, cell: ArrayLike | None = None, pbc: str = "FFF"
    ) -> Structure:
        """Make a structure from lists or arrays; `pbc` is a pattern such as "TTF"."""
        shape = np.zeros((3, 3)) if cell is None else np.array(cell, dtype=float)
        return cls(
            np.array(numbers, dtype=np.int64),
            np.array(positions, dtype=float).reshape(-1, 3),
            shape,
            (pbc[0] == "T", pbc[1] == "T", pbc[2] == "T"),
        )

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def pattern(self) -> str:
        """Periodic directions as three letters, for example "TTF"."""
        return "".join("T" if periodic else "F" for periodic in self.pbc)

    @property
    def volume(self) -> float:
        """Volume of the cell in Å³."""
        return float(abs(np.linalg.det(self.cell)))

    def moved(self, positions: Floats) -> Structure:
        """The same atoms at other positions (Å)."""
        return replace(self, positions=positions)

    def reordered(self, order: ArrayLike) -> Structure:
        """The same structure with its atoms listed in another order."""
        index = np.asarray(order)
        return replace(self, numbers=self.numbers[index], positions=self.positions[index])

    def repeated(self, times: tuple[int, int, int]) -> Structure:
        """The supercell with `times` copies along each lattice vector; the first N atoms are the original ones."""
        shifts = np.array([(i, j, k) for i in range(times[0]) for j in range(times[1]) for k in range(times[2])])
        offsets = shifts @ self.cell
        positions = (self.positions[None, :, :] + offsets[:, None, :]).reshape(-1, 3)
        return replace(
            self,
            numbers=np.tile(self.numbers, len(shifts)),
            positions=positions,
            cell=self.cell * np.array(times)[:, None],
        )

    def transformed(self, matrix: Floats) -> Structure:
        """Positions and cell transformed by a 3×3 matrix (rotation, inversion or strain), r → matrix · r."""
        return replace(self, positions=self.positions @ matrix.T, cell=self.cell @ matrix.T)

    def to_atoms(self) -> Atoms:
        """The structure as an ASE `Atoms` object."""
        from ase import Atoms

        atoms = Atoms(numbers=self.numbers, positions=self.positions, cell=self.cell, pbc=self.pbc)
        atoms.info.update(self.info)
        return atoms

    @property
    def info(self) -> dict[str, int]:
        """Charge and spin for `atoms.info`, without those that are None."""
        entries = {"charge": self.charge, "spin": self.spin}
        return {name: value for name, value in entries.items() if value is not None}


def from_atoms(atoms: Atoms) -> Structure:
    """Copy an ASE `Atoms` object, with charge and spin from `atoms.info` if they are there."""
    return Structure(
        atoms.get_atomic_numbers().astype(np.int64),
        atoms.get_positions(),
        np.array(atoms.cell[:], dtype=float),
        (bool(atoms.pbc[0]), bool(atoms.pbc[1]), bool(atoms.pbc[2])),
        atoms.info.get("charge"),
        atoms.info.get("spin"),
    )
