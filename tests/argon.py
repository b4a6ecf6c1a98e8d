"""A sound toy model, Lennard-Jones argon with a batch, and ways to break it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.lj import LennardJones

from assay.errors import ModelFailure
from assay.model import PERIODIC_PATTERNS, Model
from assay.models.loading import from_object
from assay.structure import Floats, Structure

CLAIMS = {"elements": [18], "pbc": ["FFF", *PERIODIC_PATTERNS], "precision": "float64"}
Answers = list[tuple[float, Floats]]


class Argon(LennardJones):
    """The sound calculator: refuses every other element."""

    def __init__(self) -> None:
        super().__init__(epsilon=0.0103, sigma=3.4, rc=7.0, ro=6.0, smooth=True)

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        """Energy, forces and stress of argon atoms."""
        if set(atoms.numbers.tolist()) != {18}:
            raise ModelFailure("the model supports argon only")
        super().calculate(atoms, properties, system_changes)


class ArgonBatch:
    """The sound batch: one structure after the other."""

    def __init__(self) -> None:
        self.calculator = Argon()

    def evaluate(self, structures: Sequence[Structure]) -> Answers:
        """Energy (eV) and forces (eV/Å) of each structure."""
        return [self.answer(structure) for structure in structures]

    def answer(self, structure: Structure) -> tuple[float, Floats]:
        """Energy (eV) and forces (eV/Å) of one structure."""
        atoms = structure.to_atoms()
        self.calculator.calculate(atoms, ["energy", "forces"])
        return float(self.calculator.results["energy"]), self.calculator.results["forces"].copy()


def argon(
    calculator: Callable[[], Calculator] = Argon, batch: Callable[[], object] | None = ArgonBatch, **claims: object
) -> Model:
    """A model of a calculator and a batch with the claims of argon, or others."""

    def factory() -> Calculator:
        return calculator()

    factory.claims = {**CLAIMS, **claims}  # type: ignore[attr-defined]
    factory.build_batch = batch  # type: ignore[attr-defined]
    return from_object(factory)


def changed(change: Callable[[Any, Atoms], None]) -> type[Argon]:
    """The calculator with its results changed by a function of the calculator and the atoms."""

    class Changed(Argon):
        def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            """What argon gives, changed."""
            super().calculate(atoms, properties, system_changes)
            change(self, atoms)

    return Changed
