"""Sound models whose results look as if they were computed in double precision, but were not."""

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.calculators.mixing import LinearCombinationCalculator, SumCalculator

from assay.sabotage import SOUND
from assay.sabotage.sound import CopperGold, Indices, Pairs, SoundPotential, Values
from assay.structure import Floats

SinglePrecision = SOUND["single_precision"]


class Accumulated(SoundPotential):
    """Computed in single precision, with results in double precision that no single-precision number equals."""

    claims = ("Cu", "Au")
    offset = 0.0  # eV for each atom, added in double precision

    def evaluate(self, atoms: Atoms) -> Values:
        """The results of single precision, converted to other units and back."""
        energy, forces, virial = SinglePrecision().evaluate(atoms)  # type: ignore[attr-defined]
        there, back = 23.060547830619, 1.0 / 23.060547830619
        offset = self.offset * len(atoms)
        return Values(there * float(energy) * back * (1 + 1e-13) + offset, there * np.float64(forces) * back, virial)


class AccumulatedWithOffset(Accumulated):
    """The same, with the energies of inner electrons."""

    offset = -30000.0


class RoundedTerms(SoundPotential):
    """Weakly bound pairs: each term is rounded to single precision, and their sum is in double precision."""

    claims = ("Cu", "Au")
    depth = 0.05  # eV

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        """Energy and its gradient; the errors of many small terms are far below that of a rounded total."""
        radius = self._radius[numbers]
        scale = (radius[pairs.first] + radius[pairs.second]) ** -2
        g, slope = self.radial((pairs.vector * pairs.vector).sum(axis=1) * scale)
        terms = np.float32(self.depth * (g * g - 2.0 * g))
        tension = np.float32(self.depth * (2.0 * g - 2.0) * 2.0 * slope * scale)
        return float(np.float64(terms).sum()), np.float64(tension)[:, None] * pairs.vector


class Wrapped(Calculator):
    """Holds a calculator in single precision, and returns its results in double precision."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    claims = {"elements": ("Cu", "Au"), "pbc": ("FFF",)}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.inner = SinglePrecision()

    def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
        """Energy and forces, scaled there and back."""
        self.inner.calculate(atoms)
        results = self.inner.results
        self.results = {"energy": results["energy"] / 3.0 * 3.0, "forces": np.float64(results["forces"]) / 3.0 * 3.0}


def summed() -> Calculator:
    """A network in single precision and a correction in double precision."""
    return SumCalculator([SinglePrecision(), CopperGold()])


def combined() -> Calculator:
    """The same with weights."""
    return LinearCombinationCalculator([SinglePrecision(), CopperGold()], [1.0, 0.3])


summed.claims = combined.claims = ("Cu", "Au")  # type: ignore[attr-defined]
