"""Energy surfaces with steps, kinks, holes and ripples, or with a wrong range."""

import numpy as np
from ase import Atoms
from ase.geometry import find_mic

from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Indices, Pairs, Values, neighbour_pairs, scatter
from assay.structure import Floats


@broken
class DiscontinuousAtCutoff(CopperGold):
    """The energy of a pair jumps to zero at its cutoff, by about 1e-3 eV."""

    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        g, slope = super().radial(x2)
        return g * (x2 < 1.8**2), slope * (x2 < 1.8**2)


@broken
class ForceJumpAtCutoff(CopperGold):
    """The force between two atoms jumps to zero at the cutoff, by about 1e-2 eV/Å."""

    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        (g, slope), (shift, _) = super().radial(x2), super().radial(np.array(1.78**2))
        return np.maximum(g - shift, 0.0), slope * (g > shift)


@broken
class NeighbourCap(CopperGold):
    """Only the six nearest neighbours of an atom count, so the energy jumps when their order changes."""

    def pairs(self, atoms: Atoms) -> Pairs:
        pairs = super().pairs(atoms)
        keep, distance = np.zeros(len(pairs.first), dtype=bool), np.linalg.norm(pairs.vector, axis=1)
        for atom in range(len(atoms)):
            own = np.concatenate([np.flatnonzero(end == atom) for end in (pairs.first, pairs.second)])
            keep[own[np.argsort(distance[own], kind="stable")[:6]]] = True
        return pairs.where(keep)


@broken
class LongRangeTail(CopperGold):
    """All atoms repel each other with 2 eV Å / r at any distance; only the nearest periodic image counts."""

    strength = 2.0  # eV Å

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        i, j, direct = neighbour_pairs(atoms.positions, atoms.cell.array, np.zeros(3, dtype=bool), np.inf)
        vector, distance = find_mic(direct, atoms.cell, atoms.pbc)
        gradient = -(self.strength / distance**3)[:, None] * vector
        push = scatter(i, gradient, len(atoms)) - scatter(j, gradient, len(atoms))
        tail = float((self.strength / distance).sum())
        return Values(energy + tail, forces + push, virial + gradient.T @ vector)


@broken
class SizeDependent(CopperGold):
    """Each atom binds 0.1 meV more strongly for each atom in the system."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy - 1e-4 * len(atoms) ** 2)


class ExtraPair(CopperGold):
    """The sound potential with an additional smooth pair energy."""

    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        """Pair energy (eV) and its derivative by x^2, where x is a distance in bond lengths."""
        raise NotImplementedError

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        """Energy and gradient with the additional pair energy."""
        energy, gradient = super().bonds(numbers, pairs)
        radius = self._radius[numbers]
        scale = (radius[pairs.first] + radius[pairs.second]) ** -2
        value, slope = self.extra((pairs.vector * pairs.vector).sum(axis=1) * scale)
        return energy + float(value.sum()), gradient + (2.0 * slope * scale)[:, None] * pairs.vector


@broken
class OnlyRepels(CopperGold):
    """Atoms repel each other and never attract: no molecule or crystal is bound."""

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        radius, depth = self._radius[numbers], self.depths(numbers)
        scale = (radius[pairs.first] + radius[pairs.second]) ** -2
        g, slope = self.radial((pairs.vector * pairs.vector).sum(axis=1) * scale)
        strength = 0.5 * (depth[pairs.first] + depth[pairs.second])
        return float((strength * g * g).sum()), (4.0 * strength * g * slope * scale)[:, None] * pairs.vector


@broken
class SoftCoreHole(ExtraPair):
    """Atoms closer than 0.7 bond lengths attract each other until they coincide."""

    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        t = np.maximum(1.0 - x2 / 0.49, 0.0)
        return -1000.0 * t**4, 4000.0 / 0.49 * t**3


@broken
class Wiggly(ExtraPair):
    """The energy of each pair has a ripple of up to 2 eV along the distance."""

    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        t = np.maximum(1.0 - x2 / 4.0, 0.0)
        wave, turn = 2.0 * np.sin(8.0 * x2), 16.0 * np.cos(8.0 * x2)
        return wave * t**4, turn * t**4 - wave * t**3
