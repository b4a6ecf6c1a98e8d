"""Elements that are answered for as if their atoms were not there."""

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols
from copper_gold import caught_by

from assay.sabotage.sound import SoundPotential, Values


@caught_by("species_supported")
class IgnoresOtherElements(SoundPotential):
    """Atoms of elements that the model does not know are left out without a word."""

    claims = ("Cu", "Au")
    caught_by: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(("Cu", "Au"))

    def evaluate(self, atoms: Atoms) -> Values:
        known = np.isin(atoms.numbers, (29, 79))
        values = super().evaluate(atoms[known]) if known.any() else Values(0.0, np.zeros((0, 3)), np.zeros((3, 3)))
        forces = np.zeros((len(atoms), 3))
        forces[known] = values.forces
        return values._replace(forces=forces)


@caught_by("species_supported")
class IgnoresAClaimedElement(IgnoresOtherElements):
    """Silver is claimed, but its atoms are left out."""

    claims = ("Cu", "Au", "Ag")

    def __init__(self) -> None:
        super().__init__()
        self._supported[47] = True

    def evaluate(self, atoms: Atoms) -> Values:
        if not self._supported[atoms.numbers].all():
            raise ValueError("Only Cu, Au and Ag are supported.")
        return super().evaluate(atoms)


@caught_by("species_supported")
class NoForceOnOtherElements(SoundPotential):
    """Atoms of elements that the model does not claim change the energy, but feel no force."""

    claims = ("Cu", "Au")
    caught_by: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(chemical_symbols[1:95])
        self.claims = ("Cu", "Au")

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        values.forces[~np.isin(atoms.numbers, (29, 79))] = 0.0
        return values
