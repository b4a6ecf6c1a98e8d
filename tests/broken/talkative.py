"""A sound potential that prints at import, when it is built and at every call, through Python and below it."""

import os

from ase import Atoms

from assay.sabotage.sound import SoundPotential, Values

print("importing the talkative model")
os.write(1, b"importing it below Python's own standard output\n")


class Talkative(SoundPotential):
    """The sound potential for Cu that prints at every step."""

    claims = ("Cu",)

    def __init__(self) -> None:
        print("building")
        os.write(1, b"building, as compiled code would say it\n")
        super().__init__()

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy and forces, after a printed line."""
        print("evaluating", len(atoms))
        os.write(1, b"evaluating, as compiled code would say it\n")
        return super().evaluate(atoms)
