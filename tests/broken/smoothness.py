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

    def pairs(self, atoms: Atoms) -> Pairs:
        return neighbour_pairs(atoms.positions, atoms.cell.array, atoms.pbc, 11.0)

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        near, strength = distance < 11.0, 14.4 * 0.3**2
        return near * strength / distance, -near * strength / distance**2


@caught_by("energy_smooth", "periodicity_support", "forces_match_energy")
class EnergyWithThreeDecimals(CopperGold):
    """The energy passes through text with three decimals."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=round(values.energy, 3))
