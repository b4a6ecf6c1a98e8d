"""The common parts of the broken potentials in this folder, and the decorator that names the checks that must fail.

Their bugs are others than those of `assay.sabotage`, for which the checks were written.
"""

from collections.abc import Callable

import numpy as np

from assay.sabotage.sound import Floats, Indices, Pairs, SoundPotential, Values


class CopperGold(SoundPotential):
    """The sound potential for copper and gold."""

    claims = ("Cu", "Au")
    caught_by: tuple[str, ...] = ()


def caught_by(*checks: str) -> Callable[[type], type]:
    """Name the checks that a potential must fail."""

    def mark(broken: type) -> type:
        broken.caught_by = checks  # type: ignore[attr-defined]
        return broken

    return mark


class PairTerm(CopperGold):
    """Adds an energy u(r) to every pair, with forces that belong to it."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        """u (eV) and du/dr (eV/Å) at each distance (Å)."""
        return 0.0 * distance, 0.0 * distance

    def weights(self, first: Indices, second: Indices) -> Floats:
        """The factor of the term for each pair, by the species of its atoms."""
        return np.ones(len(first))

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        """Energy and gradient with the term."""
        energy, gradient = super().bonds(numbers, pairs)
        distance = np.linalg.norm(pairs.vector, axis=1)
        weight = self.weights(numbers[pairs.first], numbers[pairs.second])
        height, slope = self.term(distance)
        return energy + float((weight * height).sum()), gradient + (weight * slope / distance)[:, None] * pairs.vector


def scaled(values: Values, factor: float) -> Values:
    """Energy, forces and virial times a factor."""
    return Values(factor * values.energy, factor * values.forces, factor * values.virial)
