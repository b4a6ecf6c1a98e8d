"""Bonds and pairs of bonds in the neighbour pairs of a batch, for networks that also read angles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.models.neighbours import Integers, Neighbours


def bond_pairs(first: Integers, short: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Ordered pairs of different bonds that start at the same atom, and how many pairs begin with each bond.

    Args:
        first: The atom at which each bond starts, in increasing order.
        short: Which bonds take part.
    """
    chosen = np.flatnonzero(short)
    centres = first[chosen]
    begin, end = np.searchsorted(centres, centres, "left"), np.searchsorted(centres, centres, "right")
    counts = end - begin
    left = np.repeat(np.arange(len(chosen)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begin, counts)
    different = left != right
    per_bond = np.zeros(len(first), dtype=np.int64)
    per_bond[chosen] = counts - 1
    return np.stack([chosen[left[different]], chosen[right[different]]], axis=1), per_bond


def undirected_bonds(pairs: Neighbours) -> tuple[Integers, Integers]:
    """The number of the bond to which each directed pair belongs, and one directed pair of each bond."""
    there = np.column_stack([pairs.first, pairs.second, pairs.shift])
    back = np.column_stack([pairs.second, pairs.first, -pairs.shift])
    differ = there != back
    column = differ.argmax(axis=1)
    rows = np.arange(len(there))
    forward = there[rows, column] < back[rows, column]
    same = np.where(forward[:, None], there, back)
    order = np.lexsort(same.T[::-1])  # the two directions of a bond now stand one after the other
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order)) // 2
    return number, order[::2]
