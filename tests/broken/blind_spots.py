"""Bugs that no check sees yet. Each says in `because` why, and in `caught_by` which check ought to see it.

When a check learns to see one, its test says so, and the potential moves to another file of this folder.
"""

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, PairTerm, caught_by, scaled

from assay.sound import Floats, Values


@caught_by("periodicity_support")
class OddNumberOfAtoms(CopperGold):
    """Structures with an odd number of atoms are 0.01 eV too high."""

    because = "all cells have four atoms, and doubling keeps the number even"

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + 0.01 * (len(atoms) % 2))


@caught_by("periodicity_support")
class WrongBeyondHundred(CopperGold):
    """With more than 100 atoms another branch of the code is taken, which is off by 0.1 %."""

    because = "the largest cell that is evaluated has 32 atoms"

    def evaluate(self, atoms: Atoms) -> Values:
        return scaled(super().evaluate(atoms), 1.001 if len(atoms) > 100 else 1.0)


@caught_by("deterministic")
class CachedByThreeDecimals(CopperGold):
    """Results are kept by positions that are rounded to 1e-3 Å, so a close neighbour gets the results of another."""

    because = "a nudged structure is only compared with itself in the same calculator, whose cache has both"

    def evaluate(self, atoms: Atoms) -> Values:
        known = vars(self).setdefault("known", {})
        where = np.round(atoms.positions, 3).tobytes()
        key = (atoms.numbers.tobytes(), atoms.pbc.tobytes(), atoms.cell.array.tobytes(), where)
        if len(known) > 500:
            known.clear()
        if key not in known:
            known[key] = super().evaluate(atoms)
        return known[key]


@caught_by("deterministic")
class StaleOfTheSameSize(CopperGold):
    """An element without parameters gets the last results, if the number of atoms fits."""

    because = "the last results count as an answer for that element, so it is not among those that were refused"

    def evaluate(self, atoms: Atoms) -> Values:
        try:
            self.last = super().evaluate(atoms)
        except ValueError:
            if len(getattr(self, "last", Values(0.0, np.zeros((0, 3)), np.zeros((3, 3)))).forces) != len(atoms):
                raise
        return self.last


@caught_by("memory_stable")
class LeaksInCrystals(CopperGold):
    """Every evaluation of a periodic system keeps 20 kB."""

    because = "memory is watched on clusters alone"

    def evaluate(self, atoms: Atoms) -> Values:
        if atoms.pbc.any():
            vars(self).setdefault("kept", []).append(b"x" * 20_000)
        return super().evaluate(atoms)


@caught_by("memory_stable")
class LeaksWhenTheSizeChanges(CopperGold):
    """Whenever the number of atoms changes, 50 kB are kept."""

    because = "memory is watched on clusters of one size"
    size = 0

    def evaluate(self, atoms: Atoms) -> Values:
        if len(atoms) != self.size:
            vars(self).setdefault("kept", []).append(b"x" * 50_000)
        self.size = len(atoms)
        return super().evaluate(atoms)


@caught_by("thread_safe")
class OneArrayForAll(CopperGold):
    """All calculators hand out the same array of forces, so the next one changes what the last one returned."""

    because = "forces are copied at once, and no two calculators are asked in turns"
    arrays: dict[int, Floats] = {}  # noqa: RUF012

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        array = self.arrays.setdefault(len(atoms), np.zeros((len(atoms), 3)))
        array[:] = values.forces
        return values._replace(forces=array)


@caught_by("forces_match_energy")
class WrongInSlabs(CopperGold):
    """Forces of slabs and wires are 1 % too large."""

    because = "forces are differentiated in clusters and in bulk only"

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        mixed = atoms.pbc.any() and not atoms.pbc.all()
        return values._replace(forces=values.forces * (1.01 if mixed else 1.0))


@caught_by("energy_smooth")
class NarrowSpike(PairTerm):
    """A spike of 0.2 eV, smooth and 0.01 Å wide, stands at 3.317 Å."""

    because = "paths are sampled every 0.05 Å, and what is smooth at some scale is not a jump"

    def term(self, distance: Floats) -> tuple[Floats, Floats]:
        away = (distance - 3.317) / 0.005
        spike = 0.2 * np.exp(-(away**2))
        return spike, -2.0 * away / 0.005 * spike
