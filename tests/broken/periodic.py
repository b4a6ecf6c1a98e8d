"""Crystals, slabs and wires that are not what their cell and periodic directions say."""

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by, scaled

from assay.sabotage.sound import Pairs, Values


def _images(atoms: Atoms, pairs: Pairs) -> np.ndarray:
    """In which cell the second atom of each pair lies, counted from the atoms wrapped into the cell."""
    inside = atoms.get_positions(wrap=True)
    shifts = pairs.vector - (inside[pairs.second] - inside[pairs.first])
    return np.rint(np.linalg.solve(atoms.cell.complete().array.T, shifts.T).T)


@caught_by("periodicity_support", "translation_invariance")
class RightAnglesOnly(CopperGold):
    """Cells are treated as if their edges were perpendicular."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        if copy.pbc.any():
            copy.cell = np.diag(np.abs(np.diag(atoms.cell.array)))
        return super().pairs(copy)


@caught_by("periodicity_support")
class NextImagesOnly(CopperGold):
    """Only the 26 cells around the home cell count, which is too few for cells smaller than the cutoff."""

    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        return found.where((np.abs(_images(atoms, found)) <= 1).all(axis=1)) if atoms.pbc.any() else found


@caught_by("translation_invariance")
class NextImagesOnlyAlongZ(CopperGold):
    """Along the third direction only the nearest cells count."""

    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        return found.where(np.abs(_images(atoms, found)[:, 2]) <= 1) if atoms.pbc.any() else found


@caught_by("translation_invariance")
class NoForcesOutside(CopperGold):
    """Atoms outside of the cell have energy but no force."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        if atoms.pbc.any():
            where = atoms.cell.complete().scaled_positions(atoms.positions)
            values.forces[(((where < 0.0) | (where >= 1.0)) & atoms.pbc).any(axis=1)] = 0.0
        return values


@caught_by("inversion_symmetry")
class LeftHandedCells(CopperGold):
    """Cells whose vectors form a left-handed system are taken for clusters."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.pbc = atoms.pbc & (np.linalg.det(atoms.cell.complete().array) > 0.0)
        return super().pairs(copy)


@caught_by("periodicity_support")
class WrongBeyondFour(CopperGold):
    """With more than four atoms another branch of the code is taken, which is off by 0.1 %."""

    def evaluate(self, atoms: Atoms) -> Values:
        return scaled(super().evaluate(atoms), 1.001 if len(atoms) > 4 else 1.0)


@caught_by("periodicity_support")
class MeanInsteadOfSum(CopperGold):
    """The energy is the mean over atoms."""

    def evaluate(self, atoms: Atoms) -> Values:
        return scaled(super().evaluate(atoms), 4.0 / len(atoms))


@caught_by("periodicity_support")
class ConstantForEachStructure(CopperGold):
    """A constant of 1e-3 eV is added once for each structure instead of once for each atom."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + 1e-3)


@caught_by("periodicity_support")
class SlabsAsBulk(CopperGold):
    """Slabs that are periodic along the first two directions are computed as bulk."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.pbc = [True, True, True] if list(atoms.pbc) == [True, True, False] else atoms.pbc
        return super().pairs(copy)


@caught_by("periodicity_support")
class WiresAsMolecules(CopperGold):
    """Wires along the third direction are computed as molecules."""

    def pairs(self, atoms: Atoms) -> Pairs:
        copy = atoms.copy()
        copy.pbc = atoms.pbc & (atoms.pbc[0] or atoms.pbc[1])
        return super().pairs(copy)


@caught_by("periodicity_support")
class NanForSlabs(CopperGold):
    """Everything but molecules and bulk is NaN."""

    def evaluate(self, atoms: Atoms) -> Values:
        mixed = atoms.pbc.any() and not atoms.pbc.all()
        return scaled(super().evaluate(atoms), np.nan if mixed else 1.0)


@caught_by("periodicity_support")
class OddNumberOfAtoms(CopperGold):
    """Structures with an odd number of atoms are 0.01 eV too high."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + 0.01 * (len(atoms) % 2))


@caught_by("periodicity_support")
class WrongBeyondHundred(CopperGold):
    """With more than 100 atoms another branch of the code is taken, which is off by 0.1 %."""

    def evaluate(self, atoms: Atoms) -> Values:
        return scaled(super().evaluate(atoms), 1.001 if len(atoms) > 100 else 1.0)
