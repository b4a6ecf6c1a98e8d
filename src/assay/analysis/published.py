"""The stability score of MLIPAudit, by the letter: explosions and hydrogens that detach, and nothing else."""

from __future__ import annotations

import numpy as np

from assay.analysis.motion import HOTTER, LEAP, Problem
from assay.errors import Cause
from assay.structure import Floats


def published_score(kelvin: Floats, target: float, expected: int, detached: int | None, ended: Problem) -> float:
    """S = f_e / 2N if the run explodes in frame f_e, else 1/2 + f_h / 2N if a hydrogen detaches in frame f_h, else 1.

    A run explodes if its temperature is 10 000 K above the target or grows by a factor of 100 between two frames. One
    that stopped before its end exploded there, unless it stopped because a hydrogen left. A hydrogen is detached in
    the first frame (`detached`) in which it is further than 2.5 Å from its atom. N is the number of `expected` frames.
    """
    spikes = kelvin > target + HOTTER
    spikes[1:] |= (kelvin[:-1] > 0.0) & (kelvin[1:] > LEAP * kelvin[:-1])
    if spikes.any():
        return 0.5 * min(int(np.argmax(spikes)) / expected, 1.0)
    if ended.reason and not (ended.cause == Cause.ATOM_LOST and detached is not None):
        return 0.5 * min(len(kelvin) / expected, 1.0)
    return 1.0 if detached is None else 0.5 + 0.5 * min(detached / expected, 1.0)
