"""Right numbers in a form that ASE does not expect, the stress of slabs, and charges that are not used."""

import numpy as np
from ase import Atoms

from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Names, Values


class AllStresses(CopperGold):
    """The sound potential with a stress for slabs and wires, too, divided by the volume of their cell."""

    def volume(self, atoms: Atoms) -> float:
        """The volume (Å³) by which the stress of a slab or wire is divided."""
        return float(atoms.cell.volume)

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        """Evaluate all properties at once."""
        super().calculate(atoms, properties, system_changes)
        atoms = self.atoms if atoms is None else atoms
        if atoms.pbc.any() and not atoms.pbc.all() and atoms.cell.rank == 3:
            virial = self.evaluate(atoms).virial
            stress = 0.5 * (virial + virial.T) / self.volume(atoms)
            self.results["stress"] = stress[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]


@broken
class SlabStressOfOtherVolume(AllStresses):
    """The stress of slabs and wires is divided by the volume of a cell with vacuum that the model makes for itself."""

    def volume(self, atoms: Atoms) -> float:
        return 17.8 * super().volume(atoms)


@broken
class NoStressAlongWires(AllStresses):
    """The stress of wires is zero, that of slabs and crystals is right."""

    def volume(self, atoms: Atoms) -> float:
        return super().volume(atoms) if atoms.pbc.sum() > 1 else np.inf


class Shown(CopperGold):
    """The sound potential; `shown` changes the results after they were computed."""

    def shown(self, atoms: Atoms) -> None:
        """Change the form of the results."""
        raise NotImplementedError

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        """Evaluate all properties at once."""
        super().calculate(atoms, properties, system_changes)
        self.shown(self.atoms)


@broken
class EnergyInArray(Shown):
    """The energy is an array with one number."""

    def shown(self, atoms: Atoms) -> None:
        self.results["energy"] = np.array([self.results["energy"]])


@broken
class StressAsTensor(Shown):
    """The stress is a tensor of shape (3, 3) instead of six components."""

    def shown(self, atoms: Atoms) -> None:
        if "stress" in self.results:
            self.results["stress"] = self.results["stress"][[[0, 5, 4], [5, 1, 3], [4, 3, 2]]]


@broken
class EnergiesWithoutPairs(Shown):
    """The energies of atoms are those of free atoms, without their bonds, and do not add up to the energy."""

    def shown(self, atoms: Atoms) -> None:
        self.results["energies"] = 0.1 * atoms.numbers.astype(float)


@broken
class CorrectsOutsideCalculate(CopperGold):
    """A correction of -0.05 eV per atom is added in `get_potential_energy`, so that sums of calculators miss it."""

    def get_potential_energy(self, atoms: Atoms | None = None, force_consistent: bool = False) -> float:
        return float(super().get_potential_energy(atoms, force_consistent)) - 0.05 * len(self.atoms)


class Charged(CopperGold):
    """The sound potential for Cu and Au that reads charge and spin; both make all bonds stronger or weaker."""

    claims = {"elements": ("Cu", "Au"), "charge": True, "spin": True}  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(("Cu", "Au"))

    def state(self, atoms: Atoms) -> tuple[int, int]:
        """Charge and spin of a structure."""
        return int(atoms.info.get("charge", 0)), int(atoms.info.get("spin", 1))

    def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
        """What changed since the last call, with charge and spin."""
        changes = super().check_state(atoms, tol)
        same = self.atoms is not None and self.state(self.atoms) == self.state(atoms)
        return changes if same else [*changes, "info"]

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy, forces and virial; a charge also costs 3 eV."""
        charge, spin = self.state(atoms)
        energy, forces, virial = super().evaluate(atoms)
        factor = 1.0 + 0.05 * charge - 0.02 * (spin - 1)
        return Values(factor * energy + 3.0 * charge**2, factor * forces, factor * virial)


@broken
class IgnoresClaimedCharge(Charged):
    """The model claims charges and ignores them: an ion has the energy of the neutral molecule."""

    def state(self, atoms: Atoms) -> tuple[int, int]:
        return 0, super().state(atoms)[1]


@broken
class IgnoresClaimedSpin(Charged):
    """The model claims spin and ignores it: a triplet has the energy of the singlet."""

    def state(self, atoms: Atoms) -> tuple[int, int]:
        return super().state(atoms)[0], 1


@broken
class StaleCharge(Charged):
    """A new charge or spin of the same atoms is not noticed by ASE's methods, which compare everything but them."""

    def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
        return CopperGold.check_state(self, atoms, tol)


@broken
class TripletByDefault(Charged):
    """Without information the molecule is a triplet, but charge 0 and spin 1 are a singlet."""

    def state(self, atoms: Atoms) -> tuple[int, int]:
        return int(atoms.info.get("charge", 0)), int(atoms.info.get("spin", 3))
