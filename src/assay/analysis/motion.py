"""Frames of a simulation: molecules and bonds, quantities that are watched, and problems that stop a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.molecule import BONDED
from assay.analysis.planes import plane_rmsd
from assay.errors import Cause
from assay.jobs import Watch
from assay.structure import Floats, Structure

HOTTER = 10_000.0
"""A run has exploded if it is hotter than its target temperature by more than this (K)."""

LEAP = 100.0
"""A run has exploded if its temperature grows by this factor between two frames, and to over three times the target."""

LONELY = 10.0
"""An atom of a free molecule or cluster is lost if its nearest neighbour is further away than this (Å)."""

FEW_ATOMS = 300
"""Up to this number of atoms all pairs are compared, which is faster than to import a search tree."""

TOUCHING = 0.35
"""Two atoms have collapsed if they are closer than this fraction of the sum of their covalent radii; H-H at 0.22 Å."""


def watched_quantity(watch: Watch, positions: Floats) -> float:
    """The quantity (Å) of one frame that a benchmark watches: a distance, or the deviation from a plane."""
    atoms = positions[list(watch.atoms)]
    if watch.kind == "distance":
        return float(np.linalg.norm(atoms[0] - atoms[1]))
    return float(plane_rmsd(atoms[None])[0])


def bonded_pairs(structure: Structure, radii: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Pairs of bonded atoms, in both orders, and the vector (Å) from the first to the nearest image of the second."""
    reach = 2.0 * BONDED * float(radii.max(initial=0.0))
    if not any(structure.pbc):
        one_way = near_pairs(structure.positions, reach)
        pairs = np.concatenate([one_way, one_way[:, ::-1]]).astype(np.int64)
        vectors = structure.positions[pairs[:, 1]] - structure.positions[pairs[:, 0]]
    else:
        from ase.neighborlist import primitive_neighbor_list

        first, second, vectors = primitive_neighbor_list(
            "ijD", structure.pbc, structure.cell, structure.positions, reach
        )
        pairs = np.stack([first, second], axis=1).astype(np.int64)
    near = np.linalg.norm(vectors, axis=1) < BONDED * (radii[pairs[:, 0]] + radii[pairs[:, 1]])
    return pairs[near], np.asarray(vectors[near])


def near_pairs(positions: Floats, reach: float) -> NDArray[np.int64]:
    """Pairs of atoms closer than `reach` (Å), each once."""
    if len(positions) <= FEW_ATOMS:
        first, second = np.triu_indices(len(positions), 1)
        near = np.linalg.norm(positions[second] - positions[first], axis=1) <= reach
        return np.stack([first[near], second[near]], axis=1)
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(positions).query_pairs(reach, output_type="ndarray"), dtype=np.int64)


def molecules_of(pairs: NDArray[np.int64], atoms: int) -> NDArray[np.int64]:
    """The number of the molecule of each atom; molecules are numbered from 0 in the order of their first atoms."""
    if atoms <= FEW_ATOMS:
        return np.asarray(np.unique(_first_atoms(pairs, atoms), return_inverse=True)[1], dtype=np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(atoms, atoms))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _first_atoms(pairs: NDArray[np.int64], atoms: int) -> NDArray[np.int64]:
    """The lowest number of an atom in the molecule of each atom, found by passing numbers on along bonds."""
    first = np.arange(atoms)
    while True:
        lower = first.copy()
        for here, there in (pairs.T, pairs.T[::-1]):
            np.minimum.at(lower, here, first[there])
        if np.array_equal(lower, first):
            return first
        first = lower


def unwrapped_molecules(structure: Structure, pairs: NDArray[np.int64], vectors: Floats) -> Floats:
    """Positions (Å) in which no molecule is split by the boundary of the cell."""
    positions = np.array(structure.positions)
    neighbours: list[list[tuple[int, Floats]]] = [[] for _ in range(len(positions))]
    for (first, second), vector in zip(pairs, vectors, strict=True):
        neighbours[first].append((int(second), vector))
    placed = np.zeros(len(positions), dtype=bool)
    for start in range(len(positions)):
        waiting = [] if placed[start] else [start]
        placed[start] = True
        while waiting:
            atom = waiting.pop()
            for other, vector in neighbours[atom]:
                if not placed[other]:
                    placed[other] = True
                    positions[other] = positions[atom] + vector
                    waiting.append(other)
    return positions


class Problem(NamedTuple):
    """Why a simulation must stop: the reason as text, and one of `Cause`; both are empty if it can continue."""

    reason: str
    cause: str


NO_PROBLEM = Problem("", Cause.NONE)


def frame_problem(structure: Structure, radii: Floats, kelvin: float, target: float, before: float) -> Problem:
    """The problem that stops a simulation at this frame; `NO_PROBLEM` if it can continue.

    `kelvin` is the temperature of this frame, `before` that of the previous frame (0 if there is none), `target` the
    temperature that the run should have.
    """
    if not np.isfinite(structure.positions).all() or not np.isfinite(kelvin):
        return Problem("positions or velocities are NaN or infinite", Cause.NOT_FINITE)
    if kelvin > target + HOTTER:
        return Problem(f"exploded: the temperature is {kelvin:.0f} K", Cause.EXPLODED)
    if before > 0.0 and kelvin > max(LEAP * before, 3.0 * target):
        return Problem(f"exploded: the temperature jumps from {before:.0f} K to {kelvin:.0f} K", Cause.EXPLODED)
    if lost := _lost(structure):
        return Problem(lost, Cause.ATOM_LOST)
    if collapsed := _collapsed(structure, radii):
        return Problem(collapsed, Cause.COLLAPSED)
    return NO_PROBLEM


def _lost(structure: Structure) -> str:
    """The atom that left a free molecule or cluster, as a sentence; always empty for periodic systems."""
    from scipy.spatial import cKDTree

    if any(structure.pbc) or len(structure) < 2:
        return ""
    nearest = cKDTree(structure.positions).query(structure.positions, 2)[0][:, 1]
    atom = int(np.argmax(nearest))
    if nearest[atom] <= LONELY:
        return ""
    return f"atom {atom} left: its nearest neighbour is {nearest[atom]:.0f} Å away"


def _collapsed(structure: Structure, radii: Floats) -> str:
    """The two atoms that lie on top of each other, as a sentence; pairs across the cell boundary are not searched."""
    positions = structure.positions
    reach = 2.0 * TOUCHING * float(radii.max(initial=0.0))
    if any(structure.pbc):
        from ase.geometry import wrap_positions

        positions = wrap_positions(positions, structure.cell, structure.pbc)
    pairs = near_pairs(positions, reach)
    if not len(pairs):
        return ""
    first, second = pairs[:, 0], pairs[:, 1]
    distance = np.linalg.norm(positions[first] - positions[second], axis=1)
    fraction = distance / (radii[first] + radii[second])
    worst = int(np.argmin(fraction))
    if fraction[worst] >= TOUCHING:
        return ""
    return f"collapsed: atoms {first[worst]} and {second[worst]} are {distance[worst]:.2f} Å apart"
