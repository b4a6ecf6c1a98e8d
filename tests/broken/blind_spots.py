"""Bugs that no check sees yet. Each says in `because` why, and in `caught_by` which check ought to see it.

When a check learns to see one, its test says so, and the potential moves to another file of this folder.
"""

import numpy as np
from copper_gold import PairTerm, caught_by

from assay.sabotage.sound import Floats


@caught_by("energy_smooth")
class NarrowSpike(PairTerm):
    """A spike of 0.2 eV, smooth and 0.01 Å wide, stands at 3.317 Å."""

    because = "paths are sampled every 0.05 Å, and what is smooth at some scale is not a jump"

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        away = (distance - 3.317) / 0.005
        spike = 0.2 * np.exp(-(away**2))
        return spike, -2.0 * away / 0.005 * spike
