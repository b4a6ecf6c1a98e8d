"""How a batch is divided into forward passes, and how its arrays are divided into energies and forces again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from assay.models.neighbours import Integers
from assay.structure import Floats, Structure

Answer = tuple[float, Floats]
"""Energy (eV) and forces (eV/Å) of one structure."""


def split_passes(sizes: Integers, pass_size: int) -> list[tuple[int, int]]:
    """Ranges of structures of about the same size; together they cover all structures in order, and none is empty.

    Args:
        sizes: The total size of all structures before each structure, and at the end that of all.
        pass_size: About the size of one range; a single structure may be larger.
    """
    count = max(round(int(sizes[-1]) / max(pass_size, 1)), 1)
    starts = np.searchsorted(sizes, np.linspace(0.0, sizes[-1], count + 1)[:-1])
    return list(pairwise(np.unique([*starts, len(sizes) - 1]).tolist()))


def split_answers(energies: Floats, forces: Floats, offsets: Integers) -> list[Answer]:
    """The answers for structures whose atoms stand one after another.

    Args:
        energies: The energy of each structure (eV).
        forces: The forces on all atoms (eV/Å).
        offsets: The number of the first atom of each structure, and at the end the number of all atoms.
    """
    parts = np.split(forces, offsets[1:-1])
    return [(float(energy), part.copy()) for energy, part in zip(energies, parts, strict=True)]


def unpadded_answers(energies: Sequence[float], forces: Floats, structures: Sequence[Structure]) -> list[Answer]:
    """The answers for structures that were filled up to the same number of atoms, without the added atoms."""
    rows = zip(energies, forces, structures, strict=True)
    return [(energy, padded[: len(structure)].copy()) for energy, padded, structure in rows]


def evaluate_groups(
    structures: Sequence[Structure],
    groups: Iterable[Sequence[int]],
    evaluate: Callable[[Sequence[Structure]], Sequence[Answer]],
) -> list[Answer]:
    """The answers in the order of the structures, where each group (numbers of structures) is one batch."""
    answers: dict[int, Answer] = {}
    for group in groups:
        if len(group):
            answers.update(zip(group, evaluate([structures[i] for i in group]), strict=True))
    return [answers[i] for i in range(len(structures))]
