"""Energies and forces that jump where atoms meet and part."""

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, PairTerm, caught_by

from assay.sabotage.sound import Floats, Indices, Pairs, Values, neighbour_pairs


@caught_by("energy_smooth")
class SmallStep(PairTerm):
    """The energy of a pair steps by 3e-4 eV at 4 Å."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        return 3e-4 * (distance < 4.0), 0.0 * distance


@caught_by("energy_smooth")
class StepBetweenUnlikeAtoms(PairTerm):
    """Only the energy of Cu-Au pairs steps, by 2e-3 eV at 4 Å."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        return 2e-3 * (distance < 4.0), 0.0 * distance

    def weights(self, first: Indices, second: Indices) -> Floats:
        return (first != second).astype(float)


@caught_by("energy_smooth")
class Kink(PairTerm):
    """The force between two atoms steps by 0.01 eV/Å at 4 Å; the energy does not."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        return 0.01 * np.maximum(4.0 - distance, 0.0), -0.01 * (distance < 4.0)


@caught_by("energy_smooth")
class HoleAtShortDistance(PairTerm):
    """Below 1.9 Å, where the model was never trained, a pair falls by 5 eV."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        return -5.0 * (distance < 1.9), 0.0 * distance


@caught_by("energy_smooth")
class WrongTableEntry(PairTerm):
    """One entry of a table is wrong by 0.01 eV: a step up at 3.31 Å and down again at 3.33 Å."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        return 0.01 * ((distance > 3.31) & (distance < 3.33)), 0.0 * distance


@caught_by("energy_smooth")
class ChargesCutOff(PairTerm):
    """Charges of 0.3 e repel one another up to 11 Å and not beyond."""

    reach = 11.0

    def pairs(self, atoms: Atoms) -> Pairs:
        return neighbour_pairs(atoms.positions, atoms.cell.array, atoms.pbc, self.reach)

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        near, strength = 1.0 * (distance < self.reach), 14.4 * 0.3**2
        return near * strength / distance, -near * strength / distance**2


@caught_by("energy_smooth", "periodicity_support", "forces_match_energy")
class EnergyWithThreeDecimals(CopperGold):
    """The energy passes through text with three decimals."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=round(values.energy, 3))


@caught_by("energy_smooth")
class NarrowSwitch(PairTerm):
    """Pairs are switched off within 0.01 Å, smoothly: 0.02 eV in less than an atom travels in one step."""

    height, width, begins = 0.02, 0.01, 4.0

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        x = np.clip((distance - self.begins) / self.width, 0.0, 1.0)
        left, slope = 1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2), -30.0 * (x * (1.0 - x)) ** 2 / self.width
        return self.height * left, self.height * slope


@caught_by("energy_smooth")
class WiderSwitch(NarrowSwitch):
    """The same within 0.02 Å, and a tenth as high."""

    height, width, begins = 0.002, 0.02, 4.433


@caught_by("energy_smooth")
class FourteenNeighbours(CopperGold):
    """Only the fourteen nearest neighbours of an atom count: enough for a small cluster, not for a crystal."""

    most = 14

    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        distance = np.linalg.norm(found.vector, axis=1)
        near = distance < 2.2 * (self._radius[atoms.numbers][found.first] + self._radius[atoms.numbers][found.second])
        found, distance = found.where(near), distance[near]
        return found.where(self.listed(found, distance, len(atoms)))

    def listed(self, found: Pairs, distance: Floats, count: int) -> np.ndarray:
        """Pairs in which one atom is among the nearest of the other."""
        keep = np.zeros(len(distance), dtype=bool)
        for atom in range(count):
            own = np.concatenate([np.flatnonzero(end == atom) for end in (found.first, found.second)])
            keep[own[np.argsort(distance[own], kind="stable")[: self.most]]] = True
        return keep


@caught_by("energy_smooth")
class ThirtyNeighbours(FourteenNeighbours):
    """Only the thirty nearest neighbours of an atom count."""

    most = 30


@caught_by("energy_smooth")
class FiftyNeighbours(FourteenNeighbours):
    """Only the fifty nearest neighbours of an atom count."""

    most = 50


@caught_by("energy_smooth")
class FirstThirtyNeighbours(FourteenNeighbours):
    """Of the neighbours within the cutoff, the first thirty count, in the order of the list."""

    most = 30

    def listed(self, found: Pairs, distance: Floats, count: int) -> np.ndarray:
        keep = np.zeros(len(distance), dtype=bool)
        for atom in range(count):
            own = np.concatenate([np.flatnonzero(end == atom) for end in (found.first, found.second)])
            keep[np.sort(own)[: self.most]] = True
        return keep


@caught_by("energy_smooth")
class FourteenNeighboursInTheOpen(FourteenNeighbours):
    """Only the fourteen nearest neighbours of an atom count, in a model without periodic systems."""

    claims = {"elements": ("Cu", "Au"), "pbc": ("FFF",)}  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(("Cu", "Au"))


@caught_by("energy_smooth")
class ChargesCutOffFarAway(ChargesCutOff):
    """Charges of 0.3 e repel one another up to 17.3 Å and not beyond, in a model without periodic systems."""

    claims = {"elements": ("Cu", "Au"), "pbc": ("FFF",)}  # type: ignore[assignment]  # noqa: RUF012
    reach = 17.3

    def __init__(self) -> None:
        super().__init__(("Cu", "Au"))


@caught_by("energy_smooth")
class NarrowSpike(PairTerm):
    """A spike of 0.2 eV, smooth and 0.01 Å wide, stands at 3.317 Å."""

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        away = (distance - 3.317) / 0.005
        spike = 0.2 * np.exp(-(away**2))
        return spike, -2.0 * away / 0.005 * spike
