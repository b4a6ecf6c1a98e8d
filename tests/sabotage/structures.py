"""Small structures of Cu and Au, and short ways to evaluate and differentiate on them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from assay.sabotage.sound import BOND

Build = Callable[[], Calculator]
Results = tuple[float, np.ndarray]
CELL = np.array([[4.1, 0.0, 0.0], [1.3, 3.9, 0.0], [-0.9, 1.7, 3.7]])  # Å
COPPER_BOND = BOND * 2 * 1.32  # Å, bond length of Cu2 in the sound potential
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # central difference, error of order step^8


def cluster(seed: int = 0, symbols: str = "Cu4Au4") -> Atoms:
    """Eight atoms on the distorted corners of a cube of 2.8 Å."""
    corners = 2.8 * np.array(list(product((0, 1), repeat=3)))
    return Atoms(symbols, positions=corners + np.random.default_rng(seed).uniform(-0.4, 0.4, (8, 3)))


def crystal(pbc: object = True, seed: int = 0, scale: float = 1.0, symbols: str = "Cu2Au2") -> Atoms:
    """Four atoms of a distorted, skewed, face-centred cell; all are inside it, and its edges are below the cutoff."""
    sites = np.array([[0.1, 0.1, 0.1], [0.6, 0.6, 0.1], [0.6, 0.1, 0.6], [0.1, 0.6, 0.6]])
    shifts = np.random.default_rng(seed).uniform(-0.07, 0.07, (4, 3))
    return Atoms(symbols, cell=scale * CELL, scaled_positions=sites + shifts, pbc=pbc)


def dimer(distance: float, symbols: str = "Cu2") -> Atoms:
    """Two atoms at a distance (Å)."""
    return Atoms(symbols, positions=[[0.0, 0.0, 0.0], [0.0, 0.0, distance]])


def moved(atoms: Atoms, positions: np.ndarray) -> Atoms:
    """The same atoms at other positions."""
    copy = atoms.copy()
    copy.positions = positions
    return copy


def strained(atoms: Atoms, strain: np.ndarray) -> Atoms:
    """A crystal under a strain."""
    copy = atoms.copy()
    copy.set_cell(atoms.cell.array @ (np.eye(3) + strain), scale_atoms=True)
    return copy


def values(calculator: Calculator, atoms: Atoms) -> Results:
    """Energy and forces of a copy, so that no model can change the structure of a measurement."""
    calculator.calculate(atoms.copy(), ["energy", "forces"], all_changes)
    return calculator.results["energy"], np.array(calculator.results["forces"], dtype=float)


def energy(build: Build, atoms: Atoms) -> float:
    """Energy (eV) from a new calculator."""
    return values(build(), atoms)[0]


def difference(a: Results, b: Results) -> float:
    """The larger of the differences in energy (eV) and in any force (eV/Å)."""
    return float(max(abs(a[0] - b[0]), np.abs(a[1] - b[1]).max()))


def derivative(function: Callable[[float], float | np.ndarray], step: float) -> float | np.ndarray:
    """Derivative at zero, eighth order."""
    return sum(c * (function(k * step) - function(-k * step)) for k, c in STENCIL.items()) / step


def directions(shape: tuple[int, int] = (8, 3), seed: int = 5) -> np.ndarray:
    """Three random directions of length one."""
    vectors = np.random.default_rng(seed).standard_normal((3, *shape))
    return vectors / np.linalg.norm(vectors, axis=(1, 2), keepdims=True)
