"""The sound potential: many-body, with exact forces and stress, for any element and any periodicity.

Every check needs at least one model that must pass it. This one has a Finnis-Sinclair form,

    E = sum over pairs of A e_ij g_ij^2  -  sum over atoms of B e_i (sqrt(rho_i + eta^2) - eta),   rho_i = sum_j g_ij,

with one bond function g of the squared distance: a Gaussian times a polynomial that takes g and its first four
derivatives to zero at the cutoff. The root is shifted by eta so that E stays smooth where an atom loses its last
neighbour. A and B are such that every dimer has its minimum at its bond length, with a depth of exactly e_ij.
Forces and stress are analytic; nothing is kept from one call to the next. Units: eV, Å.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.data import atomic_numbers, chemical_symbols, covalent_radii
from numpy.typing import DTypeLike, NDArray

from assay.structure import Floats

Indices = NDArray[np.intp]
Names = Sequence[str]

BOND = 1.1  # bond length of a dimer, in units of the sum of the covalent radii
CUTOFF = 2.2  # range of the bond function, in bond lengths
DECAY = 1.75  # exponent of the Gaussian, per squared bond length
ETA = 0.2  # shift of the embedding root, dimensionless
_ROOT = sqrt(1.0 + ETA**2)
REPULSION = 1.0 / (4.0 * _ROOT * (_ROOT - ETA) - 1.0)  # A: depth of a dimer = 1
EMBEDDING = 2.0 * REPULSION * _ROOT  # B: minimum of a dimer at g = 1
_EDGE = 1.0 - 1.0 / CUTOFF**2  # value of the cutoff polynomial's base at the bond length


class Values(NamedTuple):
    """The results of one evaluation."""

    energy: float  # eV
    forces: Floats  # eV/Å, (atoms, 3)
    virial: Floats  # eV, (3, 3): dE/d(strain), before symmetrisation


class Pairs(NamedTuple):
    """Neighbour pairs, each once: `vector` points from atom `first` to `second` or to an image of it (Å)."""

    first: Indices
    second: Indices
    vector: Floats

    def where(self, keep: NDArray[np.bool_]) -> "Pairs":
        """The pairs for which `keep` is true."""
        return Pairs(self.first[keep], self.second[keep], self.vector[keep])


class SoundPotential(Calculator):
    """The sound potential for the elements that it claims to support: H to Pu, or those that you give."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012
    claims: tuple[str, ...] = tuple(chemical_symbols[1:95])
    dtype: DTypeLike = np.float64

    def __init__(self, elements: Iterable[str] | None = None) -> None:
        super().__init__()
        if elements is not None:
            self.claims = tuple(elements)
        numbers = np.arange(len(chemical_symbols))
        self._supported = np.zeros(len(numbers), dtype=bool)
        self._supported[[atomic_numbers[symbol] for symbol in self.claims]] = True
        self._radius = (BOND * covalent_radii[: len(numbers)]).astype(self.dtype)  # Å
        # Multiples of the golden ratio spread the depths evenly over 0.8 to 1.2 eV, without a table.
        self._depth = (0.8 + 0.4 * ((0.618034 * numbers) % 1.0)).astype(self.dtype)

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        """Evaluate all properties at once; stress (eV/Å³, Voigt) only where all three directions are periodic."""
        atoms = self.atoms if atoms is None else atoms
        self.atoms = atoms.copy()
        energy, forces, virial = self.evaluate(atoms)
        self.results = {"energy": energy, "free_energy": energy, "forces": forces}
        if atoms.pbc.all():
            stress = 0.5 * (virial + virial.T) / atoms.cell.volume
            self.results["stress"] = stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]

    def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
        """Names of the properties that changed since the last call (faster than the comparison of ASE)."""
        if (old := self.atoms) is None:
            return list(all_changes)
        names = ("positions", "numbers", "cell", "pbc")
        return [name for name in names if not np.array_equal(getattr(old, name), getattr(atoms, name))]

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy, forces and virial of a structure."""
        if not self._supported[atoms.numbers].all():
            symbol = min(set(atoms.symbols) - set(self.claims))
            raise ValueError(f"Element '{symbol}' is not supported: this potential covers {', '.join(self.claims)}.")
        pairs = self.pairs(atoms)
        energy, gradient = self.bonds(atoms.numbers, pairs)
        forces = scatter(pairs.first, gradient, len(atoms)) - scatter(pairs.second, gradient, len(atoms))
        virial = (gradient[:, :, None] * pairs.vector[:, None, :]).sum(axis=0)
        return Values(energy, forces.astype(self.dtype, copy=False), virial)

    def pairs(self, atoms: Atoms) -> Pairs:
        """All pairs of atoms that may interact."""
        reach = 2.0 * CUTOFF * float(self._radius[atoms.numbers].max(initial=0.0))
        positions = atoms.positions.astype(self.dtype, copy=False)
        return neighbour_pairs(positions, atoms.cell.array.astype(self.dtype, copy=False), atoms.pbc, reach)

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        """Energy (eV) and its gradient with respect to every pair vector (eV/Å)."""
        i, j, vector = pairs
        radius, depth = self._radius[numbers], self.depths(numbers)
        scale = (radius[i] + radius[j]) ** -2
        g, slope = self.radial((vector * vector).sum(axis=1) * scale)
        rho = (scatter(i, g, len(numbers)) + scatter(j, g, len(numbers))).astype(self.dtype, copy=False)
        root = np.sqrt(rho + ETA**2)
        repulsion = REPULSION * 0.5 * (depth[i] + depth[j]) * g
        energy = (repulsion * g).sum() - EMBEDDING * (depth * (root - ETA)).sum()
        pull = 0.5 * EMBEDDING * depth / root
        tension = 2.0 * repulsion - pull[i] - pull[j]  # dE/dg
        return float(energy), (2.0 * tension * slope * scale)[:, None] * vector

    def depths(self, numbers: Indices) -> Floats:
        """Energy scale of every atom (eV)."""
        return self._depth[numbers]

    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        """Bond function g and dg/d(x^2), where x is a distance in bond lengths: g(1) = 1, g = 0 from the cutoff on."""
        t = np.maximum(1.0 - x2 / CUTOFF**2, 0.0) / _EDGE
        t2 = t * t
        steep = np.exp(DECAY - DECAY * x2) * t2 * t2
        return steep * t, steep * (-DECAY * t - 5.0 / (CUTOFF**2 * _EDGE))


class CopperGold(SoundPotential):
    """The sound potential for Cu and Au, from which the broken models derive."""

    claims = ("Cu", "Au")


def scatter(index: Indices, values: Floats, size: int) -> Floats:
    """Sum of the values, scalars or vectors, that belong to each of `size` atoms."""
    # bincount adds in a fixed order, so equal input gives equal bits in every thread; a matrix product may not.
    if values.ndim == 2:
        return np.stack([scatter(index, column, size) for column in values.T], axis=1)
    return np.asarray(np.bincount(index, weights=values, minlength=size), dtype=np.float64)


def neighbour_pairs(positions: Floats, cell: Floats, pbc: NDArray[np.bool_], reach: float) -> Pairs:
    """All pairs closer than `reach` (Å), across periodic boundaries where `pbc`; for clusters all pairs."""
    i, j = _triangle(len(positions))
    if not pbc.any() or len(positions) == 0:
        return Pairs(i, j, positions[j] - positions[i])
    edges = cell[pbc]
    try:
        dual = np.linalg.solve(edges @ edges.T, edges)
    except np.linalg.LinAlgError:
        raise ValueError(f"Periodic cell vectors {edges.tolist()} are not independent: give a proper cell.") from None
    fraction = positions @ dual.T
    wraps = np.floor(fraction)
    # The planes of a cell are 1 / |dual| apart; two wrapped atoms are at most `spread` times that distance apart.
    spread = np.ptp(fraction - wraps, axis=0)
    counts = np.floor(reach * np.sqrt((dual * dual).sum(axis=1)) + spread + 1e-6)
    shifts = _half_of_images(tuple(int(count) for count in counts)).astype(edges.dtype) @ edges
    return _within(positions - wraps @ edges, shifts, reach)


def _within(positions: Floats, shifts: Floats, reach: float) -> Pairs:
    """Pairs within the cell (all) and between the cell and its shifted copies (closer than `reach`)."""
    size = len(positions)
    i, j = _triangle(size)
    delta = (positions[None, :] - positions[:, None]).reshape(-1, 3)
    x, y, z = (delta[:, k, None] + shifts[:, k] for k in range(3))
    pair, image = np.nonzero(x * x + y * y + z * z < reach * reach)
    vector = np.concatenate([positions[j] - positions[i], delta[pair] + shifts[image]])
    return Pairs(np.concatenate([i, pair // size]), np.concatenate([j, pair % size]), vector)


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[Indices, Indices]:
    """Indices of all pairs of `size` atoms, each once."""
    return np.triu_indices(size, 1)


@lru_cache(maxsize=64)
def _half_of_images(counts: tuple[int, ...]) -> NDArray[np.int64]:
    """Lattice points up to +-counts without the origin, one of each pair n and -n."""
    grid = np.indices([2 * count + 1 for count in counts]).reshape(len(counts), -1).T - np.array(counts)
    return grid[len(grid) // 2 + 1 :]
