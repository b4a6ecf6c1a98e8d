"""A sound potential that talks all the time: at import, when it is built and at every call, by every way there is."""

import os

from ase import Atoms

from assay.sound import SoundPotential, Values

print("importing the talkative model")
os.write(1, b"importing it below Python's own standard output\n")


class Talkative(SoundPotential):
    """The sound potential for Cu, never silent."""

    claims = ("Cu",)

    def __init__(self) -> None:
        print("building")
        os.write(1, b"building, as compiled code would say it\n")
        super().__init__()

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy and forces, with a word about them."""
        print("evaluating", len(atoms))
        os.write(1, b"evaluating, as compiled code would say it\n")
        return super().evaluate(atoms)
