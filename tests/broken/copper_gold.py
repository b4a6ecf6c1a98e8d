"""What the broken potentials here share: the sound potential for Cu and Au, and a mark of who must see the bug.

They are other bugs than those of `assay.sabotage`, which the checks were written against.
"""

from collections.abc import Callable

import numpy as np

from assay.sound import Floats, Indices, Pairs, SoundPotential, Values


class CopperGold(SoundPotential):
    """The sound potential for copper and gold."""

    claims = ("Cu", "Au")
    caught_by: tuple[str, ...] = ()


def caught_by(*checks: str) -> Callable[[type], type]:
    """Mark a potential with the checks that must fail."""

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
        """How much each pair gets of the term, by the species of its atoms."""
        return np.ones(len(first))

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        """Energy and gradient with the term."""
        energy, gradient = super().bonds(numbers, pairs)
        distance = np.linalg.norm(pairs.vector, axis=1)
        weight = self.weights(numbers[pairs.first], numbers[pairs.second])
        height, slope = self.term(distance)
        return energy + float((weight * height).sum()), gradient + (weight * slope / distance)[:, None] * pairs.vector


def chosen(pairs: Pairs, keep: np.ndarray) -> Pairs:
    """Only some of the pairs."""
    return Pairs(pairs.first[keep], pairs.second[keep], pairs.vector[keep])


def scaled(values: Values, factor: float) -> Values:
    """Energy, forces and virial times a factor."""
    return Values(factor * values.energy, factor * values.forces, factor * values.virial)
