"""SO3LR: an equivariant network with explicit electrostatics and dispersion, for organic and biological molecules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.model import ModelCard
from assay.models._batches import Answer, split_answers
from assay.models._calculators import with_info_changes
from assay.models._claims import ANY_PERIODICITY, require_elements
from assay.models._torch import DEVICES, require_device, tensor_makers, to_floats
from assay.models.neighbours import Neighbours, neighbour_pairs
from assay.models.registry import NamedModel
from assay.structure import Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator

ELEMENTS = (1, 6, 7, 8, 9, 15, 16, 17)
"""H, C, N, O, F, P, S, Cl: the only elements whose energy scale in the file was changed by training."""

LONG_RANGE = 12.0
"""Range of electrostatics and dispersion (Å), which end smoothly; the range of the network itself is 4.5 Å."""


def build(device: str = "cpu") -> Calculator:
    """The ASE calculator of the package in single precision, with the published cutoffs.

    The calculator of the package computes a stress only if it was built for it, and for structures without a cell it
    divides by the volume of a cell that it makes itself. Here a stress is computed if it is needed, for crystals only.
    """
    from ase.calculators.calculator import all_changes
    from so3krates_torch.calculator.so3 import SO3LRCalculator

    class Claimed(SO3LRCalculator):
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            require_elements(atoms.numbers.tolist(), ELEMENTS, "SO3LR")
            self.compute_stress = "stress" in (properties or ()) and bool(atoms.pbc.all())
            super().calculate(atoms, properties, system_changes)

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            return with_info_changes(super().check_state(atoms, tol), self.atoms, atoms, "charge")

    return Claimed(r_max_lr=LONG_RANGE, device=require_device(device), default_dtype="float32")


def build_batch(device: str = "cpu") -> BatchEvaluator:
    """The batch evaluator: many structures in one graph."""
    calculator: Any = build(device)
    return So3lrBatch(calculator.models[0], device)


class So3lrBatch:
    """Energies and forces of many structures in one pass, with one neighbour list for all of them."""

    def __init__(self, network: Any, device: str) -> None:
        self.network = network
        self.device = device

    def evaluate(self, structures: Sequence[Structure]) -> list[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        if not structures:
            return []
        require_elements((z for s in structures for z in s.numbers.tolist()), ELEMENTS, "SO3LR")
        pairs = neighbour_pairs(structures, LONG_RANGE)
        output = self.network(self._graph(structures, pairs))
        return split_answers(to_floats(output["energy"]).reshape(-1), to_floats(output["forces"]), pairs.offsets)

    def _graph(self, structures: Sequence[Structure], pairs: Neighbours) -> Mapping[str, Any]:
        """The input of the network: atoms, pairs within both cutoffs, and the total charge of each structure."""
        import torch

        near = np.einsum("ex,ex->e", pairs.vector, pairs.vector) <= float(self.network.r_max) ** 2
        ends = np.stack([pairs.first, pairs.second])
        moves = np.einsum("ei,eix->ex", pairs.shift, np.stack([s.cell for s in structures])[pairs.structure])
        numbers = np.concatenate([s.numbers for s in structures])
        charges = np.array([s.charge or 0 for s in structures])
        floats, integers = tensor_makers(torch.float32, self.device)
        return {
            "positions": floats(np.concatenate([s.positions for s in structures])),
            "atomic_numbers": integers(numbers),
            "node_attrs": torch.nn.functional.one_hot(integers(numbers - 1), 118).to(torch.float32),
            "batch": integers(pairs.atom_structure),
            "ptr": integers(pairs.offsets),
            "head": integers(np.zeros(len(structures))),
            "cell": floats(np.zeros((3 * len(structures), 3))),
            "total_charge": floats(charges),
            "total_spin": floats(np.zeros(len(structures))),
            "edge_index": integers(ends[:, near]),
            "shifts": floats(moves[near]),
            "unit_shifts": floats(pairs.shift[near]),
            "edge_index_lr": integers(ends),
            "shifts_lr": floats(moves),
            "unit_shifts_lr": floats(pairs.shift),
        }


MODELS = {
    "so3lr": NamedModel(
        ModelCard(
            "so3lr",
            elements=ELEMENTS,
            pbc=ANY_PERIODICITY,
            charge=True,
            spin=False,
            precision="float32",
            theory="PBE0 with many-body dispersion; electrostatics and dispersion explicit up to 12 Å",
            licence="MIT",
            description="SO3LR: molecules and liquids of H C N O F P S Cl, neutral or charged; long-range physics",
            packages=("So3krates-torch", "torch"),
            notes=(
                "The network has an input for the spin whose parameters were never trained; here it is always zero.",
                "The dispersion uses the absolute value of a learned volume ratio: forces jump where the ratio changes "
                "its sign, by 4 eV/Å in compressed carbon.",
                "Charged systems are not size-consistent, because the charge is distributed over all atoms: OH⁻ and "
                "water at infinite distance have 1.36 eV more than the sum of both alone.",
            ),
        ),
        build,
        imports=("so3krates_torch", "torch"),
        install="pip install 'mlip-assay[so3lr]'",
        settings={"r_max_lr": LONG_RANGE, "dispersion_damping": 2.0, "precision": "float32"},
        inside=("so3krates_torch", "pretrained/so3lr"),
        build_batch=build_batch,
        devices=DEVICES,
    ),
}
