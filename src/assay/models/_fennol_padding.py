"""Arrays for FeNNol, filled up to a few fixed sizes with atoms that FeNNol leaves out of every sum.

JAX compiles a model again, for about two seconds, whenever an array has a new size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.structure import Floats, Structure

SMALL = 16
"""With up to this number of atoms, arrays are large enough for every pair, angle and composition at once."""

EMPTY_CELL = 1000.0
"""Edge (Å) of the cell of a system without atoms."""


def doubled_size(count: int) -> int:
    """The smallest of the sizes 4, 8, 16, 32, 64 … that is large enough."""
    return max(4, 1 << max(count - 1, 0).bit_length())


def padded_size(count: int) -> int:
    """The smallest of the sizes 4, 8, 16, 24, 32, 48, 64, 96, 128 … that is large enough."""
    size = doubled_size(count)
    return 3 * size // 4 if count <= 3 * size // 4 and size > SMALL else size


def padded_systems(structures: Sequence[Structure], atoms: int) -> int:
    """The number of systems in the arrays, with one that holds the added atoms.

    With small molecules it is the number of atoms plus one, so that the sizes of a batch depend only on its atoms. With
    large ones, the table of all pairs that FeNNol makes would be too long.
    """
    if len(structures) == 1:
        return 2
    return 1 + (atoms if max(len(s) for s in structures) <= SMALL else padded_size(len(structures)))


def padded_arrays(
    structures: Sequence[Structure], atoms: int, systems: int, cutoff: float | None = None
) -> dict[str, np.ndarray]:
    """Structures one after another, then atoms of no element in a system of their own.

    Args:
        structures: What to evaluate.
        atoms: The number of atoms in the arrays, those of no element included.
        systems: The number of systems in the arrays, those without a structure included.
        cutoff: The range of the model (Å) if the structures are periodic; the arrays then have cells.
    """
    counts = np.zeros(systems, dtype=np.int32)
    counts[: len(structures)] = [len(s) for s in structures]
    species = np.full(atoms, -1, dtype=np.int32)
    species[: counts.sum()] = np.concatenate([s.numbers for s in structures])
    coordinates = np.zeros((atoms, 3), dtype=np.float32)
    coordinates[: counts.sum()] = np.concatenate([s.positions for s in structures])
    member = np.full(atoms, systems - 1, dtype=np.int32)
    member[: counts.sum()] = np.repeat(np.arange(systems, dtype=np.int32), counts)
    arrays = {"species": species, "coordinates": coordinates, "natoms": counts, "batch_index": member}
    if cutoff is not None:
        cells = [closed_cell(s, cutoff) for s in structures]
        empty = [EMPTY_CELL * np.eye(3)] * (systems - len(structures))
        arrays["cells"] = np.array(cells + empty, dtype=np.float32)
    return arrays | {"true_atoms": species > 0, "true_sys": np.arange(systems) < len(structures)}


def closed_cell(structure: Structure, cutoff: float) -> Floats:
    """A cell with three vectors; along directions that are not periodic, images are beyond the cutoff (Å)."""
    from ase.geometry import complete_cell

    periodic = np.array(structure.pbc)
    cell = np.asarray(complete_cell(structure.cell * periodic[:, None]), dtype=float)
    extent = np.ptp(structure.positions @ cell.T, axis=0)  # vectors that complete a cell have unit length
    return np.where(periodic[:, None], structure.cell, cell * (extent + cutoff + 1.0)[:, None])


def rounded_state(state: Any, common: bool) -> Any:
    """The sizes of the arrays inside FeNNol, each raised to the next fixed size.

    The first graph decides the sizes of all pair lists, because the other graphs select from its pairs. This gives
    fewer different sizes.

    Args:
        state: The state of FeNNol's preprocessing.
        common: True to give all elements the size of the most frequent one.
    """
    from flax.core.frozen_dict import FrozenDict

    graph = state["layers_state"][0]
    pairs = doubled_size(max(int(graph.get(name, 1)) for name in ("npairs", "npairs_noself")))

    def rounded(layer: Mapping[str, Any], key: str, value: Any) -> Any:
        if key in ("npairs", "npairs_noself"):
            return pairs if layer is graph else max(2 * pairs, doubled_size(int(value)))
        if key == "nangles":
            return doubled_size(int(value))
        if key != "sizes":
            return value
        largest = max(value.values(), default=0)
        return FrozenDict({int(z): padded_size(int(largest if common else n)) for z, n in value.items()})

    layers = [FrozenDict({k: rounded(layer, k, v) for k, v in layer.items()}) for layer in state["layers_state"]]
    return FrozenDict({**state, "layers_state": tuple(layers)})
