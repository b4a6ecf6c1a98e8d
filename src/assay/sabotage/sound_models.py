"""The sound models: every check and benchmark must let them pass."""

from collections.abc import Callable, Sequence

import numpy as np
from ase.calculators.calculator import Calculator, get_calculator_class

from assay.sabotage.sound import CopperGold, SoundPotential
from assay.structure import Floats, Structure


class SinglePrecision(CopperGold):
    """The sound potential for Cu and Au, evaluated in float32."""

    dtype = np.float32


class SoundBatch(CopperGold):
    """The sound potential for Cu and Au; a batch of structures gives the same values as single structures."""

    @staticmethod
    def build_batch() -> "OneByOne":
        """The evaluator of batches."""
        return OneByOne()


class OneByOne:
    """Evaluates the structures of a batch one after another."""

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        calculator = CopperGold()
        return [calculator.evaluate(structure.to_atoms())[:2] for structure in structures]


def emt() -> Calculator:
    """ASE's effective medium theory for Cu and Au."""
    return get_calculator_class("emt")()


def lennard_jones() -> Calculator:
    """ASE's Lennard-Jones potential with a smooth cutoff; sigma and epsilon are of the size of those of Cu."""
    return get_calculator_class("lj")(sigma=2.3, epsilon=0.4, rc=6.0, ro=4.0, smooth=True)


emt.claims = lennard_jones.claims = CopperGold.claims  # type: ignore[attr-defined]
SOUND: dict[str, Callable[[], Calculator]] = {
    "sound": SoundPotential,
    "single_precision": SinglePrecision,
    "sound_batch": SoundBatch,
    "emt": emt,
    "lennard_jones": lennard_jones,
}
"""Every sound model by its name."""
