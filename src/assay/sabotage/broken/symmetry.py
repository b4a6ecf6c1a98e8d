"""Energies that change with position, orientation, handedness or order of the atoms, and wrong periodic images."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Indices, Pairs, Values, scatter
from assay.structure import Floats


@broken
class NotRotationInvariant(CopperGold):
    """Distances along x are 0.1 % too long, those along y and z are right."""

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        metric = np.array([1.001, 1.0, 1.0])
        energy, gradient = super().bonds(numbers, pairs._replace(vector=pairs.vector * metric))
        return energy, gradient * metric


@broken
class ExternalField(CopperGold):
    """A uniform field pulls every atom along -z with 0.01 eV/Å."""

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        field, moment = np.array([0.0, 0.0, 0.01]), atoms.positions.sum(axis=0)
        return Values(energy + float(moment @ field), forces - field, virial + np.outer(field, moment))


@broken
class NotInversionSymmetric(CopperGold):
    """A structure and its mirror image have different energies."""

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        energy, gradient = super().bonds(numbers, pairs)
        (i, j, vector), size = pairs, len(numbers)
        x2 = (vector * vector).sum(axis=1) / 8.0
        g, slope = self.radial(x2)
        # Each atom adds the triple product of three sums over its neighbours: sum_j g x^2k r_ij with k = 0, 1, 2.
        terms = [(g * x2**k)[:, None] * vector for k in range(3)]
        sums = [scatter(i, term, size) - scatter(j, term, size) for term in terms]
        for k in range(3):
            normal = 0.01 * np.cross(sums[k - 2], sums[k - 1])  # derivative with respect to sums[k]
            pull = normal[i] - normal[j]
            along = 0.25 * (slope * x2**k + k * g * x2 ** max(k - 1, 0)) * (pull * vector).sum(axis=1)
            gradient = gradient + (g * x2**k)[:, None] * pull + along[:, None] * vector
        return energy + float((normal * sums[2]).sum()), gradient


@broken
class NotPermutationInvariant(CopperGold):
    """Each atom binds 0.1 % more strongly than the one before it in the list of atoms."""

    def depths(self, numbers: Indices) -> Floats:
        return super().depths(numbers) * (1.0 + 0.001 * np.arange(len(numbers)))


def _with_pbc(atoms: Atoms, pbc: Sequence[bool] | NDArray[np.bool_]) -> Atoms:
    copy = atoms.copy()
    copy.pbc = pbc
    return copy


@broken
class MinimumImageOnly(CopperGold):
    """Only the nearest periodic image of each pair of atoms counts."""

    def pairs(self, atoms: Atoms) -> Pairs:
        direct = super().pairs(_with_pbc(atoms, [False] * 3))
        turns = np.rint(atoms.cell.complete().scaled_positions(direct.vector)) * atoms.pbc
        return direct._replace(vector=direct.vector - turns @ atoms.cell.array)


@broken
class IgnoresPbc(CopperGold):
    """Periodic systems are treated as clusters."""

    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, [False] * 3))


@broken
class IgnoresPbcZ(CopperGold):
    """The third direction is never periodic."""

    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, atoms.pbc & [True, True, False]))


@broken
class AlwaysPeriodic(CopperGold):
    """Every direction that has a cell vector is treated as periodic."""

    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, atoms.cell.array.any(axis=1)))


@broken
class OutsideCell(CopperGold):
    """Atoms outside the cell do not interact with periodic images."""

    def pairs(self, atoms: Atoms) -> Pairs:
        pairs, place = super().pairs(atoms), atoms.cell.complete().scaled_positions(atoms.positions)
        inside = (((place >= 0.0) & (place < 1.0)) | ~atoms.pbc).all(axis=1)
        direct = atoms.positions[pairs.second] - atoms.positions[pairs.first]
        is_direct = np.abs(pairs.vector - direct).max(axis=1, initial=0.0) < 1e-6
        return pairs.where(is_direct | (inside[pairs.first] & inside[pairs.second]))


@broken
class PeriodicWithAnyCell(CopperGold):
    """A molecule that carries a cell is treated as a crystal; slabs, wires and molecules without a cell are right."""

    def pairs(self, atoms: Atoms) -> Pairs:
        boxed = not atoms.pbc.any() and atoms.cell.rank == 3
        return super().pairs(_with_pbc(atoms, [True] * 3) if boxed else atoms)


@broken
class WrapsMolecules(CopperGold):
    """The atoms of a molecule are wrapped into its cell, if it has one."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        if not atoms.pbc.any() and atoms.cell.rank == 3:
            copy.wrap(pbc=True)
        return super().pairs(copy)


@broken
class LosesAtomsOnFaces(CopperGold):
    """Atoms are sorted into bins of the cell, and one whose wrapped fraction is rounded to 1 falls out of the last."""

    def pairs(self, atoms: Atoms) -> Pairs:
        pairs, place = super().pairs(atoms), atoms.cell.complete().scaled_positions(atoms.positions)
        inside = ((place - np.floor(place) < 1.0) | ~atoms.pbc).all(axis=1)
        return pairs.where(inside[pairs.first] & inside[pairs.second])
