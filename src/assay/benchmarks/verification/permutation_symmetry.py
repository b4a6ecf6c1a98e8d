"""Relabelling atoms changes nothing.

Atoms of one kind have no names. A potential whose energy depends on the order in which the atoms are listed will give
different physics for different files of the same structure.

Protocol:
- Distorted clusters and crystals of every species and of the mixture, listed backwards, rotated by one, and in three
  random orders. The energy must stay and each force must go with its atom.
Reference: exact symmetry.
Cite: OpenKIM verification check vc-permutation-symmetry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.benchmarks.bases.symmetry import Change, SymmetryCheck
from assay.structure import Structure


@dataclass(frozen=True)
class PermutationSymmetry(SymmetryCheck):
    """Energy and forces do not depend on the order of the atoms."""

    mandatory = True
    catches = ("not_permutation_invariant",)
    shuffles: int = 3

    def changes(self, structure: Structure, rng: np.random.Generator) -> Iterable[Change]:
        """The structure with its atoms listed backwards, rotated by one, and in random orders."""
        count = len(structure)
        orders = [np.arange(count)[::-1], np.roll(np.arange(count), 1)]
        orders += [rng.permutation(count) for _ in range(self.shuffles)]
        for i, order in enumerate(orders, start=1):
            yield Change(f"order {i}", structure.reordered(order), order)
