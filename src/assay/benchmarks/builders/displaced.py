"""Distorted copies of a molecule, always the same ones: bent along soft motions, or displaced at random."""

from __future__ import annotations

import zlib

import numpy as np

from assay.analysis.molecule import Indices, bonds, broken_and_made
from assay.analysis.superposition import superposed_rmsd
from assay.configurations import generator, radius
from assay.structure import Floats, Structure

RMSD = 0.17
"""How far (Å, root mean square after superposition) the counted atoms of a displaced copy are from their places."""

SPRING_RANGE = 1.5  # Å, over which the springs between atoms fade
SHEAR = 0.3  # stiffness of a spring against motion across it, beside 1 along it
TRIES = 20
DISPLACEMENTS, DISPLACEMENT = 6, 0.02  # how many random displacements, and how far (Å) along each coordinate


def displaced_copy(structure: Structure, name: str, counted: Indices) -> Structure:
    """The molecule bent along its own soft motions, with no bond broken or made; `name` seeds the choice.

    The counted atoms move as springs between them would let them; each of the others moves with the nearest of these.
    """
    radii = np.array([radius(int(z)) for z in structure.numbers])
    pairs = bonds(structure.positions, radii)
    riding = _nearest(structure.positions, counted)
    for trial in range(TRIES):
        move = _soft_motion(structure.positions[counted], _random(f"{name}{trial or ''}"))[riding]
        moved = structure.positions + _scale(structure.positions, move, counted) * move
        if not any(len(rows) for rows in broken_and_made(moved, pairs, radii)):
            break
    return structure.moved(moved)


def random_displacements(
    structure: Structure, name: str, count: int = DISPLACEMENTS, size: float = DISPLACEMENT
) -> list[Structure]:
    """The molecule with every coordinate changed at random by about `size` (Å), each time there and back."""
    moves = size * _random(name).standard_normal((count, len(structure), 3))
    return [structure.moved(structure.positions + sign * move) for move in moves for sign in (1.0, -1.0)]


def mean_square_displacement(structure: Structure, name: str) -> float:
    """The mean over `random_displacements` of the squared length (Å²) of the displacement of all coordinates."""
    moved = random_displacements(structure, name)
    return float(np.mean([((m.positions - structure.positions) ** 2).sum() for m in moved]))


def _random(name: str) -> np.random.Generator:
    return generator(zlib.crc32(name.encode("utf-8")))


def _nearest(positions: Floats, counted: Indices) -> Indices:
    """For each atom the place in `counted` of the nearest counted atom."""
    gaps = np.linalg.norm(positions[:, None] - positions[counted][None], axis=2)
    return np.asarray(gaps.argmin(axis=1), dtype=np.int64)


def _scale(positions: Floats, move: Floats, counted: Indices) -> float:
    """How much of a motion makes the wanted distance, which is nearly, not exactly, proportional to it."""
    scale = 1.0
    for _ in range(20):
        scale *= RMSD / superposed_rmsd((positions + scale * move)[counted], positions[counted])
    return scale


def _soft_motion(positions: Floats, rng: np.random.Generator) -> Floats:
    """A random mixture of the motions of springs between the atoms, the softer the larger, without rigid motion."""
    still = _rigid_motions(positions)
    stiffness, motions = np.linalg.eigh(_springs(positions))
    size = 1.0 / (stiffness + 1e-3 * stiffness[-1])
    move = motions @ (size * rng.standard_normal(len(size)))
    return np.asarray(move - still @ (still.T @ move)).reshape(-1, 3)


def _rigid_motions(positions: Floats) -> Floats:
    """Orthonormal columns that span translations and rotations."""
    vectors = positions - positions.mean(axis=0)
    shifts = [np.tile(axis, len(positions)) for axis in np.eye(3)]
    turns = [np.cross(axis, vectors).ravel() for axis in np.eye(3)]
    columns, sizes, _ = np.linalg.svd(np.array([*shifts, *turns]).T, full_matrices=False)
    return np.asarray(columns[:, sizes > 1e-6 * sizes[0]])


def _springs(positions: Floats) -> Floats:
    """Second derivatives of the energy of springs at rest between all pairs, the stronger the closer."""
    count, vectors = len(positions), positions[:, None] - positions[None]
    length = np.linalg.norm(vectors, axis=2) + np.eye(count)
    strength = np.exp(-((length / SPRING_RANGE) ** 2)) * (1.0 - np.eye(count))
    along = vectors[:, :, :, None] * vectors[:, :, None, :] / (length**2)[:, :, None, None]
    blocks = -strength[:, :, None, None] * (along + SHEAR * np.eye(3))
    blocks[np.arange(count), np.arange(count)] = -blocks.sum(axis=1)
    return np.asarray(blocks.transpose(0, 2, 1, 3).reshape(3 * count, 3 * count))
