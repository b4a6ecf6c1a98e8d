"""Bugs of stress, cells, charges, forms of results and caches, in other variants than those of the package."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by

from assay.sabotage.broken.ase_results import AllStresses, Charged
from assay.sabotage.sound import Pairs, Values

Names = Sequence[str]


@caught_by("stress_matches_energy")
class SlabStressByArea(AllStresses):
    """The stress of slabs and wires is a force per length, divided by the area of the first two vectors."""

    def volume(self, atoms: Atoms) -> float:
        return float(np.linalg.norm(np.cross(atoms.cell[0], atoms.cell[1])))


@caught_by("stress_matches_energy")
class NanStressOfSlabs(AllStresses):
    """The stress of slabs and wires is NaN."""

    def volume(self, atoms: Atoms) -> float:
        return float("nan")


@caught_by("deterministic")
class NeighboursWithSkin(CopperGold):
    """The list is made anew if an atom moves by 0.3 Å; vectors use the new cell, but no new image comes in."""

    def pairs(self, atoms: Atoms) -> Pairs:
        edges, kept = atoms.cell.complete().array, vars(self).get("kept")
        known = kept is not None and len(kept[0]) == len(atoms) and (kept[3] == atoms.pbc).all()
        if not known or np.abs(kept[0] - atoms.positions).max() > 0.3:
            found = super().pairs(atoms)
            shifts = found.vector - (atoms.positions[found.second] - atoms.positions[found.first])
            kept = (atoms.positions.copy(), found, np.rint(np.linalg.solve(edges.T, shifts.T).T), atoms.pbc.copy())
            self.kept = kept
        direct = atoms.positions[kept[1].second] - atoms.positions[kept[1].first]
        return kept[1]._replace(vector=direct + kept[2] @ edges)


class _Blind(CopperGold):
    """ASE's methods are not told of one kind of change."""

    blind = ""

    def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
        return [name for name in super().check_state(atoms, tol) if name != self.blind]


@caught_by("deterministic")
class BlindForTheCell(_Blind):
    """A new cell is not noticed by ASE's methods."""

    blind = "cell"


@caught_by("deterministic")
class BlindForPeriodicity(_Blind):
    """New periodic directions are not noticed by ASE's methods."""

    blind = "pbc"


@caught_by("deterministic")
class StressOfTheLastCall(CopperGold):
    """A thousandth of the last stress is still in the buffer."""

    last: np.ndarray | None = None

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        if "stress" in self.results:
            now = self.results["stress"]
            self.results["stress"] = now if self.last is None else 0.999 * now + 0.001 * self.last
            self.last = now


class _Fraction(CopperGold):
    """Atoms whose fraction is exactly `place` have no neighbours."""

    place = 0.0

    def pairs(self, atoms: Atoms) -> Pairs:
        pairs, fractions = super().pairs(atoms), atoms.cell.complete().scaled_positions(atoms.positions)
        counted = ((fractions != self.place) | ~atoms.pbc).all(axis=1)
        return pairs.where(counted[pairs.first] & counted[pairs.second])


@caught_by("translation_invariance")
class LosesAtomsAtZero(_Fraction):
    """Atoms on the first faces are lost."""


@caught_by("translation_invariance")
class LosesAtomsAtOne(_Fraction):
    """Atoms on the last faces are lost."""

    place = 1.0


@caught_by("translation_invariance")
class LosesAtomsInTheMiddle(_Fraction):
    """Atoms half-way are lost."""

    place = 0.5


@caught_by("translation_invariance")
class RaisesOnTheFace(CopperGold):
    """A fraction that wraps to 1 is out of bounds."""

    def pairs(self, atoms: Atoms) -> Pairs:
        if ((atoms.cell.complete().scaled_positions(atoms.positions) % 1.0 >= 1.0) & atoms.pbc).any():
            raise IndexError("index 4 is out of bounds for axis 0 with size 4")
        return super().pairs(atoms)


@caught_by("translation_invariance")
class LeftHandedMolecules(CopperGold):
    """The energy of a molecule in a left-handed cell has the wrong sign."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        left = not atoms.pbc.any() and np.linalg.det(atoms.cell.array) < 0.0
        return values._replace(energy=-values.energy) if left else values


class _Results(CopperGold):
    """Values are right, and `spoilt` changes their form."""

    def spoilt(self, atoms: int) -> None:
        """Change the results."""

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        self.spoilt(len(self.atoms))


@caught_by("results_follow_ase")
class ForcesInLists(_Results):
    """Forces are lists of lists."""

    def spoilt(self, atoms: int) -> None:
        self.results["forces"] = self.results["forces"].tolist()


@caught_by("results_follow_ase")
class StressesOfEveryAtomAreTheWhole(_Results):
    """The stress of each atom is that of the crystal, so that their sum is N times too large."""

    def spoilt(self, atoms: int) -> None:
        if "stress" in self.results:
            self.results["stresses"] = np.tile(self.results["stress"], (atoms, 1))


@caught_by("results_follow_ase")
class NoStressIsNone(_Results):
    """The stress of molecules is None, on which ASE's sums of calculators fail."""

    def spoilt(self, atoms: int) -> None:
        self.results.setdefault("stress", None)


@caught_by("results_follow_ase")
class TensorFromGetStress(CopperGold):
    """`get_stress` of the calculator gives nine components."""

    def get_stress(self, atoms: Atoms | None = None) -> np.ndarray:
        return super().get_stress(atoms)[[[0, 5, 4], [5, 1, 3], [4, 3, 2]]]


@caught_by("charge_and_spin_used")
class ChargeOfTheFirstCall(Charged):
    """A solver is made once for each composition, with the charge that the first structure has."""

    def state(self, atoms: Atoms) -> tuple[int, int]:
        return vars(self).setdefault("solvers", {}).setdefault(atoms.numbers.tobytes(), super().state(atoms))


@caught_by("charge_and_spin_used")
class OnlyCations(Charged):
    """Negative charges are ignored."""

    def state(self, atoms: Atoms) -> tuple[int, int]:
        charge, spin = super().state(atoms)
        return max(charge, 0), spin


@caught_by("charge_and_spin_used")
class StaleWithoutClaim(Charged):
    """The model claims no charge, reads it, and does not notice that it changed."""

    claims = ("Cu", "Au")

    def check_state(self, atoms: Atoms, tol: float = 0.0) -> list[str]:
        return CopperGold.check_state(self, atoms, tol)


@caught_by("memory_stable")
class ResultsOfEveryObject(CopperGold):
    """The results of every `Atoms` object are kept by its identity."""

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        vars(self).setdefault("known", {})[id(atoms)] = dict(self.results)
