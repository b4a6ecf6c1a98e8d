"""Sound models whose results look as if they were computed in double precision, but were not."""

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.calculators.mixing import LinearCombinationCalculator, SumCalculator

from assay.sabotage import SOUND
from assay.sabotage.sound import SoundPotential, Values

SinglePrecision, LennardJones = SOUND["single_precision"], SOUND["lennard_jones"]


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
    return SumCalculator([SinglePrecision(), LennardJones()])


def combined() -> Calculator:
    """The same with weights."""
    return LinearCombinationCalculator([SinglePrecision(), LennardJones()], [1.0, 0.3])


summed.claims = combined.claims = ("Cu", "Au")  # type: ignore[attr-defined]
