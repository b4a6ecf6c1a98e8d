"""SO3LR: an equivariant transformer with explicit electrostatics and dispersion, for organic and bio molecules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ModelFailure
from assay.model import PERIODIC_PATTERNS, ModelCard
from assay.models._torch import require_device
from assay.models.neighbours import neighbour_pairs
from assay.models.registry import Registered
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator

ELEMENTS = (1, 6, 7, 8, 9, 15, 16, 17)
"""H, C, N, O, F, P, S, Cl: the only elements whose energy scale in the file has left its starting value."""

LONG_RANGE = 12.0
"""Electrostatics and dispersion end here (Å), smoothly; the network itself sees 4.5 Å."""


def build(device: str = "cpu") -> Calculator:
    """The package's calculator in single precision, with its published cutoffs.

    It has a stress only if asked for it beforehand, and divides it by the volume of a cell of its own where the
    structure is not periodic; here the stress of crystals comes when it is wanted, and no other.
    """
    from ase.calculators.calculator import all_changes
    from so3krates_torch.calculator.so3 import SO3LRCalculator

    class Claimed(SO3LRCalculator):
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            _refuse_unclaimed(atoms.numbers.tolist())
            self.compute_stress = "stress" in (properties or ()) and bool(atoms.pbc.all())
            super().calculate(atoms, properties, system_changes)

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            changes = super().check_state(atoms, tol)
            last = self.atoms.info.get("charge") if self.atoms is not None else None
            return changes if atoms.info.get("charge") == last else [*changes, "info"]

    return Claimed(r_max_lr=LONG_RANGE, device=require_device(device), default_dtype="float32")


def build_batch(device: str = "cpu") -> BatchEvaluator:
    """Many structures as one graph."""
    calculator: Any = build(device)
    return So3lrBatch(calculator.models[0], device)


class So3lrBatch:
    """SO3LR on a list of structures in one pass, with one neighbour list for all of them."""

    def __init__(self, network: Any, device: str) -> None:
        self.network = network
        self.device = device

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        if not structures:
            return []
        for structure in structures:
            _refuse_unclaimed(structure.numbers.tolist())
        found = self.network(self._graph(structures))
        energies = found["energy"].detach().cpu().numpy().astype(float).reshape(-1)
        forces = found["forces"].detach().cpu().numpy().astype(float)
        ends = np.cumsum([len(s) for s in structures])[:-1]
        return [(float(e), f.copy()) for e, f in zip(energies, np.split(forces, ends), strict=True)]

    def _graph(self, structures: Sequence[Structure]) -> Mapping[str, Any]:
        """What the network reads: atoms, pairs within both cutoffs, and the total charge of each structure."""
        import torch

        pairs = neighbour_pairs(structures, LONG_RANGE)
        near = np.einsum("ex,ex->e", pairs.vector, pairs.vector) <= float(self.network.r_max) ** 2
        ends = np.stack([pairs.first, pairs.second])
        moves = np.einsum("ei,eix->ex", pairs.shift, np.stack([s.cell for s in structures])[pairs.structure])
        numbers = np.concatenate([s.numbers for s in structures])
        charges = np.array([s.charge or 0 for s in structures])

        def real(values: Any) -> torch.Tensor:
            return torch.as_tensor(values, dtype=torch.float32, device=self.device)

        def whole(values: Any) -> torch.Tensor:
            return torch.as_tensor(values, dtype=torch.long, device=self.device)

        return {
            "positions": real(np.concatenate([s.positions for s in structures])),
            "atomic_numbers": whole(numbers),
            "node_attrs": torch.nn.functional.one_hot(whole(numbers - 1), 118).to(torch.float32),
            "batch": whole(pairs.atom_structure),
            "ptr": whole(pairs.offsets),
            "head": whole(np.zeros(len(structures))),
            "cell": real(np.zeros((3 * len(structures), 3))),
            "total_charge": real(charges),
            "total_spin": real(np.zeros(len(structures))),
            "edge_index": whole(ends[:, near]),
            "shifts": real(moves[near]),
            "unit_shifts": real(pairs.shift[near]),
            "edge_index_lr": whole(ends),
            "shifts_lr": real(moves),
            "unit_shifts_lr": real(pairs.shift),
        }


def _refuse_unclaimed(numbers: Sequence[int]) -> None:
    """The network answers for every element; only eight have trained parameters."""
    beyond = sorted(set(numbers) - set(ELEMENTS))
    if beyond:
        raise ModelFailure(f"the model was not trained on the element with atomic number {beyond[0]}")


MODELS = {
    "so3lr": Registered(
        ModelCard(
            "so3lr",
            elements=ELEMENTS,
            pbc=("FFF", *PERIODIC_PATTERNS),
            charge=True,
            spin=False,
            precision="float32",
            theory="PBE0 with many-body dispersion; electrostatics and dispersion explicit up to 12 Å",
            licence="MIT",
            description="SO3LR: molecules and liquids of H C N O F P S Cl, neutral or charged; long-range physics",
            packages=("So3krates-torch", "torch"),
            notes=(
                "The file has an input for spin whose parameters were never trained; it is always left at zero.",
                "Dispersion takes the absolute value of a learned volume ratio: forces jump where it changes sign, "
                "by 4 eV/Å in compressed carbon.",
                "Charged systems are not size-consistent: the charge is spread over all atoms, near and far; OH⁻ and "
                "water infinitely apart have 1.36 eV more than each alone.",
            ),
        ),
        build,
        imports=("so3krates_torch", "torch"),
        install="pip install 'mlip-assay[so3lr]'",
        settings={"r_max_lr": LONG_RANGE, "dispersion_damping": 2.0, "precision": "float32"},
        inside=("so3krates_torch", "pretrained/so3lr"),
        build_batch=build_batch,
        devices=("cpu", "cuda"),
    ),
}
