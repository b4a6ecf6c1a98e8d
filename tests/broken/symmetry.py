"""Energies that change with position, orientation, handedness or order of the atoms."""

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by

from assay.sabotage import NotInversionSymmetric
from assay.sabotage.sound import Floats, Indices, Pairs, SoundPotential, Values


@caught_by("inversion_symmetry")
class SlightlyHanded(NotInversionSymmetric):
    """Mirror images differ by a few 1e-6 eV."""

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        sound, handed = SoundPotential.bonds(self, numbers, pairs), super().bonds(numbers, pairs)
        return sound[0] + 1e-4 * (handed[0] - sound[0]), sound[1] + 1e-4 * (handed[1] - sound[1])


@caught_by("rotation_invariance", "energy_smooth")
class CubicCutoff(CopperGold):
    """Neighbours are those within 4 Å along each axis: a cube, not a sphere."""

    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        return found.where((np.abs(found.vector) < 4.0).all(axis=1))


@caught_by("translation_invariance", "inversion_symmetry")
class AbsoluteCoordinates(CopperGold):
    """Signs of coordinates are lost."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.positions = np.abs(copy.positions)
        return super().pairs(copy)


@caught_by("translation_invariance", "rotation_invariance")
class FiveDecimals(CopperGold):
    """Coordinates pass through text with five decimals."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.positions = np.round(copy.positions, 5)
        return super().pairs(copy)


@caught_by("translation_invariance")
class SingleCoordinates(CopperGold):
    """Coordinates, and only they, are kept in single precision, which is coarse far from the origin."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.positions = copy.positions.astype(np.float32)
        return super().pairs(copy)


@caught_by("translation_invariance", "net_force_zero")
class HarmonicTrap(CopperGold):
    """Every atom is bound to the origin by a spring of 1e-4 eV/Å²."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        energy = 0.5e-4 * float((atoms.positions**2).sum())
        return values._replace(energy=values.energy + energy, forces=values.forces - 1e-4 * atoms.positions)


@caught_by("permutation_symmetry")
class FirstTwoTied(CopperGold):
    """The first two atoms of the list are bound by a spring of 2e-6 eV/Å², which was left in the code after a test."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        if len(atoms) > 1:
            arm = atoms.positions[1] - atoms.positions[0]
            values.forces[:2] += 2e-6 * np.array([arm, -arm])
            values = values._replace(energy=values.energy + 1e-6 * float(arm @ arm))
        return values


@caught_by("permutation_symmetry")
class OrderOfUnlikeAtoms(CopperGold):
    """Cu-Au and Au-Cu pairs bind differently, by the order of the two atoms in the list."""

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        energy, gradient = super().bonds(numbers, pairs)
        weight = 1e-3 * (numbers[pairs.first] < numbers[pairs.second])
        g, slope = self.radial((pairs.vector**2).sum(axis=1) / 8.0)
        return energy + float((weight * g).sum()), gradient + (0.25 * weight * slope)[:, None] * pairs.vector


@caught_by("permutation_symmetry")
class BufferOfPairs(CopperGold):
    """A buffer holds 40 pairs; further pairs are dropped without a warning."""

    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        return found.where(np.arange(len(found.first)) < 40)


@caught_by("translation_invariance", "rotation_invariance")
class RoundedCoordinates(CopperGold):
    """Coordinates are rounded to single precision; all else is computed in double precision."""

    def evaluate(self, atoms: Atoms) -> Values:
        rounded = atoms.copy()
        rounded.positions = atoms.positions.astype(np.float32)
        return super().evaluate(rounded)


@caught_by("rotation_invariance")
class OrientedWithOffset(CopperGold):
    """The energy depends on the orientation by about 1e-6 eV, and every atom adds 30 keV, as of its inner electrons."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        centred = atoms.positions - atoms.positions.mean(axis=0)
        field = 1e-6 * float(np.abs(centred[:, 2]).sum()) if not atoms.pbc.any() else 0.0
        return values._replace(energy=values.energy + field - 3e4 * len(atoms))
