"""Minima and first-order saddle points by quasi-Newton steps, with second derivatives that are updated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ase import Atoms
from ase.units import _amu, _c, _e
from cache import rounded

Surface = Callable[[Atoms], tuple[float, np.ndarray]]
FLOOR = 0.3
"""Smallest curvature (eV/Å²) in a step, so that steps along soft modes are not too large."""


def stationary(
    start: Atoms,
    surface: Surface,
    hessian: np.ndarray | Callable[[Atoms], np.ndarray],
    order: int,
    force_limit: float,
    steps: int = 40,
    longest: float = 0.12,
    floor: float = FLOOR,
) -> Atoms:
    """The nearest stationary point of an order: 0 for a minimum, 1 for a saddle point.

    `hessian` is the matrix at the start, which is updated from the forces, or a function that is called at each step.
    No atom moves by more than `longest` (Å) in a step, and along soft modes as if the curvature were `floor` (eV/Å²).
    """
    atoms = rounded(start)
    matrix = hessian(atoms) if callable(hessian) else hessian
    value, forces = surface(atoms)
    for _ in range(steps):
        if np.linalg.norm(forces, axis=1).max() < force_limit:
            return atoms
        moved = rounded(atoms)
        moved.positions += _step(atoms, forces, matrix, order, longest, floor)
        moved = rounded(moved)
        lower, after = surface(moved)
        change, response = (moved.positions - atoms.positions).ravel(), (forces - after).ravel()
        matrix = hessian(moved) if callable(hessian) else _updated(matrix, change, response, order)
        if order == 0 and lower > value + 1e-3:
            longest = max(0.5 * longest, 0.02)
        atoms, value, forces = moved, lower, after
    raise RuntimeError(f"{atoms.symbols} is not converged after {steps} steps")


def _step(atoms: Atoms, forces: np.ndarray, matrix: np.ndarray, order: int, longest: float, floor: float) -> np.ndarray:
    """A Newton step: downhill along all modes, but uphill along the lowest mode for a saddle point."""
    curvatures, modes = np.linalg.eigh(_internal(atoms, matrix, 1e4))
    pushes = modes.T @ forces.ravel()
    signs = np.ones(len(pushes))
    signs[:order] = -1.0
    step = (modes @ (signs * pushes / np.maximum(np.abs(curvatures), floor))).reshape(-1, 3)
    return step * min(1.0, longest / np.linalg.norm(step, axis=1).max())


def _internal(atoms: Atoms, matrix: np.ndarray, stiffness: float) -> np.ndarray:
    """The matrix without translations and rotations; these become stiff, so that they are the last modes."""
    rigid = _rigid(atoms)
    keep = np.eye(len(matrix)) - rigid @ rigid.T
    return keep @ (0.5 * (matrix + matrix.T)) @ keep + stiffness * rigid @ rigid.T


def _rigid(atoms: Atoms) -> np.ndarray:
    """Orthonormal basis of translations and rotations."""
    centred = atoms.positions - atoms.positions.mean(axis=0)
    axes = np.eye(3)
    motions = [np.tile(axis, (len(atoms), 1)) for axis in axes] + [np.cross(axis, centred) for axis in axes]
    u, sizes, _ = np.linalg.svd(np.array([motion.ravel() for motion in motions]).T, full_matrices=False)
    return u[:, sizes > 1e-2 * sizes[0]]


def _updated(matrix: np.ndarray, change: np.ndarray, response: np.ndarray, order: int) -> np.ndarray:
    """The updated matrix: BFGS for minima, for saddle points Bofill's mixture of symmetric rank one and Powell."""
    error = response - matrix @ change
    if order == 0 and change @ response > 0:
        image = matrix @ change
        return matrix + np.outer(response, response) / (change @ response) - np.outer(image, image) / (change @ image)
    length, overlap = change @ change, error @ change
    share = overlap**2 / ((error @ error) * length + 1e-30)
    rank_one = np.outer(error, error) / (overlap if abs(overlap) > 1e-12 else 1e-12)
    along = np.outer(change, change) / length
    powell = (np.outer(error, change) + np.outer(change, error) - overlap * along) / length
    return matrix + share * rank_one + (1 - share) * powell


def vibrations(atoms: Atoms, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wavenumbers (cm⁻¹, imaginary ones as negative numbers) and Cartesian modes, without rigid motions."""
    root = np.repeat(np.sqrt(atoms.get_masses()), 3)
    weighted = atoms.copy()
    flat = _internal_weighted(weighted, matrix / np.outer(root, root), root)
    squares, modes = np.linalg.eigh(flat)
    count = 3 * len(atoms) - _rigid(atoms).shape[1]
    squares, modes = squares[:count], modes[:, :count]
    waves = np.sign(squares) * np.sqrt(np.abs(squares) * _e / _amu * 1e20) / (2 * np.pi * _c * 100)
    cartesian = (modes / root[:, None]).T.reshape(count, -1, 3)
    return waves, cartesian / np.linalg.norm(cartesian, axis=(1, 2))[:, None, None]


def _internal_weighted(atoms: Atoms, matrix: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Mass-weighted second derivatives; rigid motions become stiff, so that they are the last modes."""
    u, _ = np.linalg.qr(root[:, None] * _rigid(atoms))
    keep = np.eye(len(matrix)) - u @ u.T
    return keep @ matrix @ keep + 1e6 * u @ u.T
