"""Neuroevolution potentials (NEP) through calorine: NEP89, and a nep.txt of your own by `nep:FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import Model, ModelCard
from assay.models._batches import Answer, evaluate_groups
from assay.models._calculators import voigt
from assay.models._claims import ANY_PERIODICITY, ELEMENTS_89
from assay.models._nep_potential import VACUUM, Potential, read_header
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package
from assay.models.weights import PackagedFile
from assay.structure import Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "nep"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[nep]'"
CLAIMS: dict[str, Any] = {
    "pbc": ANY_PERIODICITY,
    "charge": False,
    "spin": False,
    "precision": "float64",
    "packages": ("calorine",),
}


def build(path: Path) -> Calculator:
    """An ASE calculator for a nep.txt; it gives a stress if the cell has a volume."""
    from ase.calculators.calculator import Calculator, all_changes

    class NEP(Calculator):
        implemented_properties = ["energy", "energies", "forces", "stress"]  # noqa: RUF012
        as_used = {"precision": "float64", "device": "cpu"}  # noqa: RUF012

        def __init__(self, potential: Potential) -> None:
            super().__init__()
            self.potential = potential

        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            super().calculate(atoms, properties or ["energy"], system_changes)
            given = self.atoms
            energies, forces, virial = self.potential.evaluate(
                given.numbers, given.positions, given.cell.array, given.pbc
            )
            self.results = {"energy": float(energies.sum()), "energies": energies, "forces": forces}
            if given.cell.rank == 3:
                self.results["stress"] = voigt(-(virial + virial.T) / 2.0 / given.cell.volume)

    return NEP(Potential(path))


class NepBatch:
    """Energies and forces of many structures, one after another without ASE; a structure that is refused gives NaN."""

    def __init__(self, potential: Potential) -> None:
        self.potential = potential

    def evaluate(self, structures: Sequence[Structure]) -> list[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given.

        Structures of the same number of atoms are evaluated one after another, because they use the same potential.
        """
        by_size = sorted(range(len(structures)), key=lambda i: len(structures[i]))
        return evaluate_groups(structures, [[i] for i in by_size], self._evaluate_one)

    def _evaluate_one(self, structures: Sequence[Structure]) -> list[Answer]:
        (s,) = structures
        try:
            energies, forces, _ = self.potential.evaluate(s.numbers, s.positions, s.cell, s.pbc)
        except (ModelFailure, RuntimeError):  # Assay then uses the calculator, which gives the reason
            return [(np.nan, np.full((len(s), 3), np.nan))]
        return [(float(energies.sum()), forces)]


def build_batch(path: Path) -> NepBatch:
    """The batch evaluator of a nep.txt."""
    return NepBatch(Potential(path))


def open_model(rest: str, device: str | None = None) -> Model:
    """The model of a nep.txt of the user's own, `nep:FILE`."""
    from ase.data import atomic_numbers

    path = checkpoint_file(SCHEME, rest)
    symbols = read_header(path).symbols
    if unknown := [symbol for symbol in symbols if symbol not in atomic_numbers]:
        raise AssayError(f"'{path.name}' names '{unknown[0]}', which is not a chemical element; correct its first line")
    require_package(f"{SCHEME}:{rest}", "calorine", "calorine", INSTALL)
    Potential(path).check()
    card = checkpoint_card(SCHEME, path, **CLAIMS, elements=sorted(atomic_numbers[symbol] for symbol in symbols))
    return checkpoint_model(card, path, build, build_batch, device)


MODELS = {
    "nep89": NamedModel(
        ModelCard(
            "nep89",
            elements=ELEMENTS_89,
            theory="neuroevolution potential with ZBL repulsion, trained on density-functional data near PBE-D3",
            licence="GPL-3.0 (NepTrainKit, which contains the parameters); MPL-2.0 (calorine)",
            description="NEP89 for 89 elements, H to Bi and Ac to Pu; very fast on a CPU",
            notes=("Directions that are not periodic get vacuum beyond the 6 Å cutoff; results do not depend on it.",),
            **CLAIMS,
        ),
        build,
        imports=("calorine",),
        install=INSTALL,
        settings={"vacuum": VACUUM},
        weights=PackagedFile(
            "neptrainkit",
            "2.5.4",
            "NepTrainKit/Config/nep89.txt",
            sha256="75168ece02e840e4a32644f982b78d43cba697f5b64b4c8134ab66c7a8c28be1",
            archive_sha256="ae5c607acd8f4e0384e2d7579225054aa5dff0fe6ab61ed0226922963a42dfe9",
            python="3.11",
            platform="manylinux2014_x86_64",
        ),
        build_batch=build_batch,
    )
}
