"""Answers of the structure before: the cell, the elements or the stress are not computed anew."""

from typing import ClassVar

import numpy as np
from ase import Atoms

from assay.sabotage.broken.state import Remembers, noise_generator
from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Names, Pairs, Values
from assay.structure import Floats


@broken
class IgnoresChangeOfCell(CopperGold):
    """The neighbour list is kept as long as no atom moves, whatever becomes of the cell."""

    def pairs(self, atoms: Atoms) -> Pairs:
        key = (atoms.numbers.tobytes(), atoms.pbc.tobytes(), atoms.positions.tobytes())
        if vars(self).get("key") != key:
            self.key, self.kept = key, super().pairs(atoms)
        return self.kept


@broken
class NeighboursByPositions(CopperGold):
    """The neighbour list is made anew only if ASE reports other positions or elements."""

    changes: Names = ()

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        self.changes = system_changes
        super().calculate(atoms, properties, system_changes)

    def pairs(self, atoms: Atoms) -> Pairs:
        if "kept" not in vars(self) or {"positions", "numbers"} & set(self.changes):
            self.kept = super().pairs(atoms)
        return self.kept


@broken
class IgnoresChangeOfSpecies(Remembers):
    """The last values are returned if positions and cell are the same, whatever the elements are."""

    def evaluate(self, atoms: Atoms) -> Values:
        if self.last is None or self.seen is None or len(self.seen) != len(atoms):
            return self.remember(atoms)
        same = np.array_equal(self.seen.positions, atoms.positions) and np.array_equal(self.seen.cell, atoms.cell)
        return self.last if same and (self.seen.pbc == atoms.pbc).all() else self.remember(atoms)


@broken
class NoisyStress(CopperGold):
    """The stress alone has noise of 1e-6 of itself, new at every call, like a sum in no fixed order."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(virial=values.virial * (1.0 + 1e-6 * noise_generator().standard_normal((3, 3))))


@broken
class StaleStress(CopperGold):
    """The stress is that of the last crystal with the same number of atoms: its buffer is filled too late."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        buffers: dict[int, Floats] = vars(self).setdefault("buffers", {})
        last = buffers.get(len(atoms), values.virial)
        buffers[len(atoms)] = values.virial
        return values._replace(virial=last)


@broken
class SharesStress(CopperGold):
    """All calculators return the same array of stress, so that the next one changes what the last one returned."""

    shared: ClassVar[Floats] = np.zeros(6)

    def calculate(self, atoms: Atoms | None = None, properties: Names = (), system_changes: Names = ()) -> None:
        super().calculate(atoms, properties, system_changes)
        if "stress" in self.results:
            self.shared[:] = self.results["stress"]
            self.results["stress"] = self.shared
