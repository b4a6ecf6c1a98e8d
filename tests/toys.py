"""Small calculators with known results, and engines and models made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator

from assay.compute.engines.calculator import CalculatorEngine
from assay.configurations import cluster
from assay.model import Model, ModelCard
from assay.models.loading import load_model
from assay.structure import Floats, Structure

Curve = Callable[[float], float]
HCN = Structure.build([1, 6, 7], [[0.0, 0.0, -1.06], [0.0, 0.0, 0.0], [0.0, 0.0, 1.15]])
HNC = Structure.build([1, 6, 7], [[0.0, 0.0, 2.16], [0.0, 0.0, 0.0], [0.0, 0.0, 1.17]])
DIMER = Structure.build([29, 29], [[0.0, 0.0, 0.0], [0.0, 0.0, 2.5]])
CLUSTERS = tuple(cluster((29,), variant=v) for v in range(3))


class Toy(Calculator):
    """A calculator with the results of `answer`."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]  # noqa: RUF012

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """The results for a structure."""
        return {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}

    def calculate(self, atoms: Atoms, properties: object = (), system_changes: object = ()) -> None:
        """Store the results."""
        self.atoms = atoms.copy()
        self.results = self.answer(atoms)


class Says(Toy):
    """Returns the same results for every structure."""

    def __init__(self, **results: object) -> None:
        super().__init__()
        self.fixed_results = results

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """The fixed results."""
        return dict(self.fixed_results)


class Spring(Toy):
    """Each atom is bound to the origin: E = k/2 Σ r², F = −k r, with k in eV/Å²."""

    stiffness = 2.0

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """Energy and forces of the springs."""
        energy = 0.5 * self.stiffness * float((atoms.positions**2).sum())
        return {"energy": energy, "forces": -self.stiffness * atoms.positions}


class Pair(Toy):
    """Two atoms: energy (eV) and slope (eV/Å) are functions of their distance (Å)."""

    def __init__(self, energy: Curve, slope: Curve) -> None:
        super().__init__()
        self.energy, self.slope = energy, slope

    def answer(self, atoms: Atoms) -> dict[str, object]:
        """The pair energy, and forces along the bond."""
        vector = atoms.positions[1] - atoms.positions[0]
        distance = float(np.linalg.norm(vector))
        force = self.slope(distance) * vector / distance
        return {"energy": self.energy(distance), "forces": np.array([force, -force])}


def model_of(build: Callable[[], object], **parts: object) -> Model:
    """A model with a builder of calculators; `parts` are other fields of `Model`."""
    fields: dict = {"card": ModelCard("toy"), "fingerprint": "toy", "build": build, "reference": None, **parts}
    return Model(**fields)


def engine_of(build: Callable[[], object], **parts: object) -> CalculatorEngine:
    """An engine for a builder of calculators."""
    return CalculatorEngine(model_of(build, **parts))


def sabotaged(name: str) -> CalculatorEngine:
    """An engine for a broken or sound model of `assay.sabotage`."""
    return CalculatorEngine(load_model(f"assay.sabotage:{name}"))


def distances(positions: Floats) -> Floats:
    """Distances (Å) of all pairs, each once."""
    i, j = np.triu_indices(len(positions), 1)
    return np.asarray(np.linalg.norm(positions[i] - positions[j], axis=1))
