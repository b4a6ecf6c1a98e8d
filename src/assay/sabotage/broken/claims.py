"""Models that do not do what they claim: for a species, in other units, or in batches."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator

from assay.sabotage.broken.forces import Scaled
from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, SoundPotential, Values
from assay.structure import Floats, Structure


@broken
class NanForOneSpecies(Scaled):
    """All results are NaN for structures that contain Au, which the model claims to support."""

    def evaluate(self, atoms: Atoms) -> Values:
        self.factors = (np.nan, np.nan, np.nan) if "Au" in atoms.symbols else (1.0, 1.0, 1.0)
        return super().evaluate(atoms)


@broken
class RefusesClaimedSpecies(SoundPotential):
    """The model claims to support Cu, Au and Ag but raises for Ag."""

    claims = ("Cu", "Au", "Ag")

    def evaluate(self, atoms: Atoms) -> Values:
        if "Ag" in atoms.symbols:
            raise ValueError("No parameters for 'Ag' were found.")
        return super().evaluate(atoms)


@broken
class WrongUnitConversion(CopperGold):
    """With lengths in nm all bonds are 1 % too short, because the conversion is wrong."""

    unit_sets = ("A", "nm")

    @staticmethod
    def build_in_units(unit_set: str) -> Calculator:
        """The calculator that works in a set of units."""
        return ShortBonds() if unit_set == "nm" else CopperGold()


class ShortBonds(CopperGold):
    """The sound potential with bonds that are 1 % shorter."""

    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        """The bond function at distances that are 1 % longer."""
        g, slope = super().radial(1.02 * x2)
        return g, 1.02 * slope


@broken
class BatchMixesStructures(CopperGold):
    """In a batch each structure gets the forces of the one before it, if both have the same number of atoms."""

    @staticmethod
    def build_batch() -> "MixedBatch":
        """The evaluator of batches."""
        return MixedBatch()


class MixedBatch:
    """Evaluates a batch and shifts the forces by one structure."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        calculator, last = CopperGold(), np.zeros((0, 3))
        results = []
        for structure in structures:
            energy, forces, _ = calculator.evaluate(structure.to_atoms())
            results.append((energy, last if len(last) == len(forces) else forces))
            last = forces
        return results
