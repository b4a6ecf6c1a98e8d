"""Forces, stresses and units that do not belong to the energy, or that are wrong together with it."""

import numpy as np
from ase import Atoms, units

from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Values, scatter

KCAL = units.mol / units.kcal  # kcal/mol in one eV


class Scaled(CopperGold):
    """The sound potential with wrong factors of energy, forces and stress."""

    factors: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy, forces and virial times their factors."""
        energy, forces, virial = super().evaluate(atoms)
        return Values(self.factors[0] * energy, self.factors[1] * forces, self.factors[2] * virial)


@broken
class ZeroForce(Scaled):
    """All forces are zero while the energy is right."""

    factors = (1, 0, 1)


@broken
class ConstantEnergy(Scaled):
    """The energy never changes while the forces are right."""

    factors = (0, 1, 1)


@broken
class Frozen(Scaled):
    """The energy never changes and all forces are zero."""

    factors = (0, 0, 0)


@broken
class ScaledForces(Scaled):
    """Forces are 0.1 % too large."""

    factors = (1, 1.001, 1)


@broken
class WrongSignForces(Scaled):
    """Forces have the wrong sign: they are plus the gradient of the energy."""

    factors = (1, -1, 1)


@broken
class WrongStressSign(Scaled):
    """The stress has the sign of a pressure."""

    factors = (1, 1, -1)


@broken
class MixedUnits(Scaled):
    """The energy is in kcal/mol, the forces are in eV/Å."""

    factors = (KCAL, 1, 1)


@broken
class WrongUnits(Scaled):
    """Energy and forces are in kcal/mol and kcal/mol/Å."""

    factors = (KCAL, KCAL, KCAL)


@broken
class TooStiff(Scaled):
    """Energy and forces are three times too large: the code is sound, the physics is wrong."""

    factors = (3, 3, 3)


@broken
class TooSoft(Scaled):
    """Energy and forces are three times too small: the code is sound, the physics is wrong."""

    factors = (1 / 3, 1 / 3, 1 / 3)


@broken
class StressVoigtOrder(CopperGold):
    """The stress has its yz and xy components swapped."""

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, w = super().evaluate(atoms)
        swapped = [[w[0, 0], w[1, 2], w[0, 2]], [w[1, 2], w[1, 1], w[0, 1]], [w[0, 2], w[0, 1], w[2, 2]]]
        return Values(energy, forces, np.array(swapped))


@broken
class NonConservative(CopperGold):
    """Forces have a small part that is not the gradient of any energy."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        (i, j, vector), size = self.pairs(atoms), len(atoms)
        x2 = (vector * vector).sum(axis=1) / 8.0
        g, _ = self.radial(x2)
        density = scatter(i, g, size) + scatter(j, g, size)
        push = (2e-3 * g * x2**2 * (density[i] + density[j]))[:, None] * vector  # no derivative of the density
        return values._replace(forces=values.forces + scatter(i, push, size) - scatter(j, push, size))
