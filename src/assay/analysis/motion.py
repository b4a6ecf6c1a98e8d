"""What moving atoms do: which molecules there are, whether they are still there, and quantities watched on the way."""

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
"""A run this much hotter (K) than it should be has exploded."""

LEAP = 100.0
"""So has one whose temperature grows by this factor from one frame to the next, to three times what it should be."""

LONELY = 10.0
"""An atom of a free molecule or cluster without any other this near (Å) is lost."""

TOUCHING = 0.35
"""Atoms closer than this part of the sum of their covalent radii have fallen into each other; H-H at 0.22 Å."""


def watched(watch: Watch, positions: Floats) -> float:
    """The quantity (Å) of one frame that a benchmark follows."""
    chosen = positions[list(watch.atoms)]
    if watch.kind == "distance":
        return float(np.linalg.norm(chosen[0] - chosen[1]))
    return float(plane_rmsd(chosen[None])[0])


def bonded_pairs(structure: Structure, radii: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Pairs of bonded atoms, both ways, and the vector (Å) from the first to the nearest image of the second."""
    from scipy.spatial import cKDTree

    reach = 2.0 * BONDED * float(radii.max(initial=0.0))
    if not any(structure.pbc):
        found = cKDTree(structure.positions).query_pairs(reach, output_type="ndarray")
        pairs = np.concatenate([found, found[:, ::-1]]).astype(np.int64)
        vectors = structure.positions[pairs[:, 1]] - structure.positions[pairs[:, 0]]
    else:
        from ase.neighborlist import primitive_neighbor_list

        first, second, vectors = primitive_neighbor_list(
            "ijD", structure.pbc, structure.cell, structure.positions, reach
        )
        pairs = np.stack([first, second], axis=1).astype(np.int64)
    near = np.linalg.norm(vectors, axis=1) < BONDED * (radii[pairs[:, 0]] + radii[pairs[:, 1]])
    return pairs[near], np.asarray(vectors[near])


def molecules_of(pairs: NDArray[np.int64], atoms: int) -> NDArray[np.int64]:
    """The number of the molecule of each atom, counted from 0 in the order of their first atoms."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(atoms, atoms))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def made_whole(structure: Structure, pairs: NDArray[np.int64], vectors: Floats) -> Floats:
    """Positions (Å) in which no molecule is cut by the boundary of the cell."""
    positions = np.array(structure.positions)
    neighbours: list[list[tuple[int, Floats]]] = [[] for _ in range(len(positions))]
    for (first, second), vector in zip(pairs, vectors, strict=True):
        neighbours[first].append((int(second), vector))
    seen = np.zeros(len(positions), dtype=bool)
    for start in range(len(positions)):
        waiting = [] if seen[start] else [start]
        seen[start] = True
        while waiting:
            here = waiting.pop()
            for other, vector in neighbours[here]:
                if not seen[other]:
                    seen[other] = True
                    positions[other] = positions[here] + vector
                    waiting.append(other)
    return positions


class Problem(NamedTuple):
    """Why a simulation cannot go on: in words, and as one of `Cause`; both are empty if it can."""

    reason: str
    cause: str


NO_PROBLEM = Problem("", Cause.NONE)


def frame_problem(structure: Structure, radii: Floats, kelvin: float, target: float, before: float) -> Problem:
    """Why a simulation cannot go on from this frame.

    `kelvin` is the temperature of the frame, `before` that of the frame before (0 if there is none), `target` what it
    should be.
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
    """A lone atom, in runs of free molecules; in a periodic system nothing can leave."""
    from scipy.spatial import cKDTree

    if any(structure.pbc) or len(structure) < 2:
        return ""
    nearest = cKDTree(structure.positions).query(structure.positions, 2)[0][:, 1]
    atom = int(np.argmax(nearest))
    return f"atom {atom} left: it is {nearest[atom]:.0f} Å from every other" if nearest[atom] > LONELY else ""


def _collapsed(structure: Structure, radii: Floats) -> str:
    """Two atoms on top of each other; periodic images further than across one wall of the cell are not looked for."""
    from scipy.spatial import cKDTree

    positions = structure.positions
    reach = 2.0 * TOUCHING * float(radii.max(initial=0.0))
    if any(structure.pbc):
        from ase.geometry import wrap_positions

        positions = wrap_positions(positions, structure.cell, structure.pbc)
    pairs = cKDTree(positions).query_pairs(reach, output_type="ndarray")
    if not len(pairs):
        return ""
    first, second = pairs[:, 0], pairs[:, 1]
    distance = np.linalg.norm(positions[first] - positions[second], axis=1)
    part = distance / (radii[first] + radii[second])
    worst = int(np.argmin(part))
    if part[worst] >= TOUCHING:
        return ""
    return f"collapsed: atoms {first[worst]} and {second[worst]} are {distance[worst]:.2f} Å apart"
