"""Forces that do not belong to the energy, or to the atom."""

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by

from assay.sabotage.sound import Values, scatter


@caught_by("forces_match_energy", "net_force_zero")
class LastAtomWrong(CopperGold):
    """The force on the last atom is 1 % too large."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        values.forces[-1] *= 1.01
        return values


@caught_by("forces_match_energy", "rotation_invariance")
class NoForceAlongZForGold(CopperGold):
    """Gold feels no force along z."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        values.forces[atoms.numbers == 79, 2] = 0.0
        return values


@caught_by("forces_match_energy")
class UnlikePairsWrong(CopperGold):
    """The force between unlike atoms is 0.1 % too large; elements alone are right, and momentum is conserved."""

    def evaluate(self, atoms: Atoms) -> Values:
        values, pairs = super().evaluate(atoms), self.pairs(atoms)
        unlike = atoms.numbers[pairs.first] != atoms.numbers[pairs.second]
        extra = 1e-3 * unlike[:, None] * self.bonds(atoms.numbers, pairs)[1]
        push = scatter(pairs.first, extra, len(atoms)) - scatter(pairs.second, extra, len(atoms))
        return values._replace(forces=values.forces + push)


@caught_by("forces_match_energy", "net_force_zero")
class SpinsUp(CopperGold):
    """A torque of no origin turns every cluster; its total force is zero."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        arms = atoms.positions - atoms.positions.mean(axis=0)
        return values if atoms.pbc.any() else values._replace(forces=values.forces + 1e-3 * np.cross([1, 2, 3], arms))


@caught_by("net_force_zero")
class DriftsInCrystals(CopperGold):
    """Crystals, and only they, feel a net force of 1e-4 eV/Å on each atom."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=values.forces + (1e-4 if atoms.pbc.all() else 0.0))


@caught_by("forces_match_energy", "permutation_symmetry")
class SortedBySpecies(CopperGold):
    """Atoms are sorted by species inside, and forces come back in that order."""

    def evaluate(self, atoms: Atoms) -> Values:
        return super().evaluate(atoms[np.argsort(atoms.numbers, kind="stable")])


@caught_by("forces_match_energy")
class NextAtomsForces(CopperGold):
    """Each atom gets the force of the next one in the list."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=np.roll(values.forces, 1, axis=0))


@caught_by("forces_match_energy", "rotation_invariance")
class AxesSwapped(CopperGold):
    """x and z of the forces are swapped."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=values.forces[:, ::-1].copy())


@caught_by("forces_match_energy")
class ThreeDecimals(CopperGold):
    """Forces pass through text with three decimals."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=np.round(values.forces, 3))


@caught_by("forces_match_energy")
class DirectForceHead(CopperGold):
    """Forces are predicted beside the energy, and off by a thousandth of themselves."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        size = np.linalg.norm(values.forces, axis=1, keepdims=True)
        return values._replace(forces=values.forces * (1.0 + 1e-3 * np.tanh(size)))


@caught_by("forces_match_energy", "forces_conservative")
class ForcesLimited(CopperGold):
    """No force component may be larger than 2 eV/Å, so that simulations do not explode."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=np.clip(values.forces, -2.0, 2.0))


@caught_by("forces_match_energy")
class WrongInCrystals(CopperGold):
    """Forces in periodic systems are 1 % too large, those of clusters are right."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(forces=values.forces * (1.01 if atoms.pbc.any() else 1.0))


@caught_by("forces_match_energy")
class CachedByFormula(CopperGold):
    """Results are kept for each chemical formula, whatever the positions."""

    def evaluate(self, atoms: Atoms) -> Values:
        known = vars(self).setdefault("known", {})
        formula = str(atoms.symbols)
        if formula not in known:
            known[formula] = super().evaluate(atoms)
        return known[formula]


@caught_by("forces_match_energy")
class WrongInSlabs(CopperGold):
    """Forces of slabs and wires are 1 % too large."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        mixed = atoms.pbc.any() and not atoms.pbc.all()
        return values._replace(forces=values.forces * (1.01 if mixed else 1.0))
