"""AIMNet2: networks for neutral and charged molecules of 14 elements, as TorchScript files that need only torch.

The files accept any atomic number below 64 and give meaningless numbers for elements without training data. So elements
are compared with the reference energies in the file, which exist only for elements with training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import Model, ModelCard
from assay.models._batches import Answer, unpadded_answers
from assay.models._calculators import with_info_changes
from assay.models._claims import require_elements
from assay.models._torch import DEVICES, freeze, require_device
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure, from_atoms

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "aimnet2"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[aimnet2]'"
ELEMENTS = (1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 53)
"""H B C N O F Si P S Cl As Se Br I."""

NOTES = (
    "The energy of each atom, with its reference energy, is stored in float32. So it changes in steps of 0.1 meV for C "
    "and O, 1 meV for Cl and 8 meV for Br.",
    "The charge is read from atoms.info['charge'] and is 0 if it is missing. The spin is not read: closed shells only.",
    "Molecules only: the network uses every pair of atoms and no periodic images.",
)


def build(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a TorchScript file of AIMNet2."""
    from ase.calculators.calculator import Calculator, all_changes

    class AimNet2(Calculator):
        """Energy and forces of one molecule with the charge in `atoms.info["charge"]`."""

        implemented_properties = ["energy", "forces"]  # noqa: RUF012  (ASE's convention)

        def __init__(self, network: AimNet2Batch) -> None:
            super().__init__()
            self.network = network

        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            super().calculate(atoms, properties, system_changes)
            energy, forces = self.network.evaluate([from_atoms(atoms)])[0]
            self.results = {"energy": energy, "free_energy": energy, "forces": forces}

        def check_state(self, atoms: Any, tol: float = 1e-15) -> list[str]:
            return with_info_changes(super().check_state(atoms, tol), self.atoms, atoms, "charge")

    return AimNet2(build_batch(path, device))


def build_batch(path: Path, device: str = "cpu") -> AimNet2Batch:
    """The batch evaluator of a TorchScript file of AIMNet2."""
    return AimNet2Batch(_network(path, device), device)


def _network(path: Path, device: str) -> Any:
    """The network in a TorchScript file, which holds a program for torch and no Python code."""
    import torch

    try:
        return torch.jit.load(str(path), map_location=require_device(device)).eval()
    except (RuntimeError, ValueError) as error:
        raise AssayError(f"'{path.name}' is not a TorchScript file; give an AIMNet2 model as a .jpt file") from error


def trained_elements(network: Any) -> tuple[int, ...]:
    """Atomic numbers that have a reference energy in the file; in an ensemble, in every network."""
    tables = [p for name, p in network.named_parameters() if name.endswith("atomic_shift.shifts.weight")]
    common = [set(table.detach().flatten().nonzero().flatten().tolist()) for table in tables]
    return tuple(sorted(set.intersection(*common))) if common else ()


class AimNet2Batch:
    """Energies and forces of many molecules in one forward pass; smaller ones are filled up with atoms of number 0."""

    def __init__(self, network: Any, device: str) -> None:
        self.network = network
        self.device = device
        self.elements = trained_elements(network)
        freeze(network)

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        import torch

        if not structures:
            return []
        self._require_supported(structures)
        places = [torch.from_numpy(s.positions.astype(np.float32)) for s in structures]
        numbers = [torch.from_numpy(s.numbers) for s in structures]
        charges = torch.tensor([float(s.charge or 0) for s in structures], device=self.device)
        coordinates = _padded(places).to(self.device).requires_grad_()
        given = {"coord": coordinates, "numbers": _padded(numbers).to(self.device)}
        with torch.jit.optimized_execution(False):  # batches differ in shape, so optimised code is never used again
            output = self.network({**given, "charge": charges})
            forces = _forces(output, coordinates)
        energies = output["energy"].detach().cpu().tolist()
        return unpadded_answers(energies, forces, structures)

    def _require_supported(self, structures: Sequence[Structure]) -> None:
        if any(any(s.pbc) for s in structures):
            raise ModelFailure("AIMNet2 supports molecules only, not periodic structures")
        require_elements((z for s in structures for z in s.numbers.tolist()), self.elements, "AIMNet2")


def _padded(arrays: Sequence[Any]) -> Any:
    """Arrays of different lengths as one array, filled up with zeros to at least two rows.

    If all structures of a batch are single atoms, the file of the ensemble would add up their energies.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    joined = pad_sequence(list(arrays), batch_first=True)
    return joined if joined.shape[1] > 1 else torch.cat([joined, torch.zeros_like(joined)], dim=1)


def _forces(output: dict[str, Any], coordinates: Any) -> Floats:
    """Forces that the file computes itself (ensembles), or the negative gradient of the energy."""
    import torch

    forces = output.get("forces")
    if forces is None:
        forces = -torch.autograd.grad(output["energy"].sum(), coordinates)[0]
    return np.asarray(forces.detach().cpu().numpy(), dtype=float)


def open_model(rest: str, device: str | None = None) -> Model:
    """An AIMNet2 model of the user's own as a TorchScript file: `aimnet2:FILE`."""
    require_package(f"{SCHEME}:{rest}", "torch", "torch", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    elements = trained_elements(_network(path, "cpu"))
    if not elements:
        raise AssayError(f"'{path.name}' has no AIMNet2 reference energies; give an AIMNet2 model as a .jpt file")
    claims = {**_CLAIMS, "elements": elements, "description": "AIMNet2 model of the user"}
    card = checkpoint_card(SCHEME, path, **claims)
    return checkpoint_model(card, path, build, build_batch, device=device, devices=DEVICES)


_CLAIMS: dict[str, Any] = {
    "pbc": ("FFF",),
    "charge": True,
    "spin": False,
    "precision": "float32",
    "packages": ("torch",),
    "notes": NOTES,
}


def _named(name: str, file: str, sha256: str, words: str) -> NamedModel:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        theory="ωB97M-D3(BJ)/def2-TZVPP",
        licence="MIT (Auto3D)",
        description=f"{words}; molecules of 14 elements, neutral or charged",
        **_CLAIMS,
    )
    return NamedModel(
        card,
        build,
        imports=("torch",),
        install=INSTALL,
        weights=PackagedFile(
            "auto3d",
            "2.3.1",
            f"Auto3D/models/{file}",
            sha256=sha256,
            archive_sha256="bff5fbdd0d57b5a9d3d0d40ac4f6c10634cbc685c692a926c41e2e73f82a72f1",
        ),
        build_batch=build_batch,
        devices=DEVICES,
    )


_ONE = "a6d366b05c5997668f24a834584b4033d0cab67d13d2f8caf143b965018d3735"
_FOUR = "e34e147e3dd67bfe3e5ae8c2a2a097d59ff3a8260d98e42552004f710bb3a68b"
MODELS = {
    "aimnet2": _named("aimnet2", "aimnet2_wb97m-d3_0.jpt", _ONE, "AIMNet2, one network"),
    "aimnet2-ensemble": _named("aimnet2-ensemble", "aimnet2_wb97m_ens_f.jpt", _FOUR, "AIMNet2, mean of four"),
}
