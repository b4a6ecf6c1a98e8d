"""Sound potentials with unusual manners, none of which is a fault: no check may fail on them."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.calculators.mixing import SumCalculator
from copper_gold import CopperGold

from assay.sabotage.broken.ase_results import AllStresses, Charged
from assay.sabotage.sound import Floats, Values

Names = Sequence[str]


class SlabStress(AllStresses):
    """Slabs and wires have a stress, too."""


class ExtraResults(CopperGold):
    """The energy is an array without dimension, energies of atoms add up, and there are entries that ASE has not."""

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        energy, count = self.results["energy"], len(self.atoms)
        extra = {"features": [1, 2], "magmom": None, "charges": np.zeros(count)}
        self.results |= {"energy": np.array(energy), "energies": np.full(count, energy / count), **extra}


class NoStress(CopperGold):
    """There is no stress."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results.pop("stress", None)


class PublicMethodsOnly(Calculator):
    """There are only public methods, and no `calculate`."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    claims = ("Cu", "Au")

    def get_potential_energy(self, atoms: Atoms | None = None, force_consistent: bool = False) -> float:
        return CopperGold().evaluate(atoms).energy

    def get_forces(self, atoms: Atoms | None = None) -> Floats:
        return CopperGold().evaluate(atoms).forces


class RefusesFlatCells(CopperGold):
    """A cell with fewer than three vectors is refused."""

    def evaluate(self, atoms: Atoms) -> Values:
        if 0 < atoms.cell.rank < 3:
            raise ValueError("the cell has no volume")
        return super().evaluate(atoms)


class ChargesAndSpins(Charged):
    """Charge and spin are claimed and used."""


class ReadsWithoutClaim(Charged):
    """Charge and spin are used without a claim."""

    claims = ("Cu", "Au")


class ElectronsMustFit(Charged):
    """Charge and spin that do not fit to the number of electrons are refused."""

    def evaluate(self, atoms: Atoms) -> Values:
        charge, spin = self.state(atoms)
        if (atoms.numbers.sum() - charge - spin + 1) % 2:
            raise ValueError("this charge and this spin do not fit to each other")
        return super().evaluate(atoms)


def sum_of_two() -> Calculator:
    """ASE's sum of two calculators."""
    return SumCalculator([CopperGold(), CopperGold()])


sum_of_two.claims = ("Cu", "Au")  # type: ignore[attr-defined]
