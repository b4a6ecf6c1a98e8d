"""Stresses that are not the derivative of the energy with strain."""

from collections.abc import Sequence

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by

from assay.sabotage.sound import Floats


class _Stress(CopperGold):
    """Energy and forces are right; `changed` spoils the stress."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        """The stress as it should not be."""
        return stress

    def calculate(
        self, atoms: Atoms | None = None, properties: Sequence[str] = (), system_changes: Sequence[str] = ()
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        if "stress" in self.results:
            self.results["stress"] = self.changed(self.results["stress"], atoms or self.atoms)


@caught_by("stress_matches_energy")
class WithoutVolume(_Stress):
    """The virial, not divided by the volume."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return stress * atoms.cell.volume


@caught_by("stress_matches_energy", "rotation_invariance")
class ShearTwice(_Stress):
    """Shear components count twice, as engineers count strains."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return stress * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


@caught_by("stress_matches_energy")
class InGigapascal(_Stress):
    """The stress comes in GPa."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return stress * 160.21766


@caught_by("stress_matches_energy")
class Zero(_Stress):
    """There is a stress, and it is always zero."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return 0.0 * stress


@caught_by("stress_matches_energy")
class OneComponent(_Stress):
    """One of the six components is 1 % too large."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return stress * np.array([1.0, 1.0, 1.0, 1.0, 1.01, 1.0])


@caught_by("inversion_symmetry")
class SignOfTheVolume(_Stress):
    """The volume of a left-handed cell is taken as negative."""

    def changed(self, stress: Floats, atoms: Atoms) -> Floats:
        return stress * np.sign(np.linalg.det(atoms.cell.array))
