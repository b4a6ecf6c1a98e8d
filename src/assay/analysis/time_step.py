"""The order of the energy error: how fast fluctuations of the total energy fall with the time step.

In velocity Verlet the total energy of a smooth potential fluctuates in proportion to the square of the time step, which
is an order of 2. A fluctuation that the model itself makes, by noise, by jumps at a cutoff or by forces of another
energy, does not depend on the time step, which is an order of 0. Slow changes are left out: they are the drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np

from assay.analysis.blocks import Average
from assay.structure import Floats

BLOCK = 10
"""Frames in a block; fluctuations are measured from a straight line through each block."""

LEAST_BLOCKS = 4
"""With fewer blocks there is no standard error."""


def fast_variances(energies: Floats) -> Floats:
    """The variance of a series about a straight line through each block of ten frames; the last frames may be left."""
    count = len(energies) // BLOCK
    blocks = np.asarray(energies[: count * BLOCK], dtype=float).reshape(count, BLOCK)
    line = np.arange(BLOCK) - 0.5 * (BLOCK - 1)
    centred = blocks - blocks.mean(axis=1, keepdims=True)
    slopes = centred @ line / float(line @ line)
    return np.asarray(((centred - slopes[:, None] * line) ** 2).sum(axis=1) / (BLOCK - 2))


def time_step_order(coarse: Sequence[Floats], fine: Sequence[Floats]) -> Average | None:
    """The order from the total energies of runs with a time step and, over the same time, with half of it.

    Its standard error comes from leaving out one tenth of the time after the other (jackknife). None if the runs are
    too short for it or if an energy does not fluctuate.
    """
    parts = [np.concatenate([fast_variances(run) for run in runs]) for runs in (coarse, fine)]
    count = min(len(part) for part in parts)
    if count < LEAST_BLOCKS or min(float(part.sum()) for part in parts) <= 0.0:
        return None
    groups = np.array_split(np.arange(count), min(count, 10))
    first, second = (part[:count] for part in parts)
    orders = np.array([_order(np.delete(first, group), np.delete(second, group)) for group in groups])
    scatter = np.sqrt((len(groups) - 1) * np.mean((orders - orders.mean()) ** 2))
    return Average(_order(first, second), float(scatter), float(len(groups)))


def _order(coarse: Floats, fine: Floats) -> float:
    return 0.5 * log2(max(float(coarse.mean()), 1e-300) / max(float(fine.mean()), 1e-300))


def rounding(energies: Floats, single: bool = False) -> float:
    """The spacing (eV) of the numbers in which a model computes its energies: single or double precision.

    `single` is true where it is known to be single; otherwise the energies show it, unless something was added to them.
    """
    largest = np.abs(energies).max(initial=0.0)
    exact = single or bool((energies.astype(np.float32).astype(float) == energies).all())
    return float(np.spacing(np.float32(largest)) if exact else np.spacing(largest))
