"""AIMNet2: a charge-aware network for molecules of 14 elements, as TorchScript files that need nothing but torch.

The files take any atomic number below 64 and answer nonsense for those they were not trained on, so elements are
compared with the reference energies inside the file, which exist for the trained ones alone.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import Model, ModelCard
from assay.models._torch import require_device
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure, from_atoms

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "aimnet2"
FILE_SCHEME = True
DEVICES = ("cpu", "cuda")
INSTALL = "pip install 'mlip-assay[aimnet2]'"
ELEMENTS = (1, 5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 53)
"""H B C N O F Si P S Cl As Se Br I."""

NOTES = (
    "The energy of an atom is kept in float32 with its reference energy inside, so it comes in steps of 0.1 meV for C "
    "and O, 1 meV for Cl and 8 meV for Br.",
    "Charge from atoms.info['charge'], 0 if there is none; closed shells, the spin is not read.",
    "Molecules only: the network takes every pair of atoms, without periodic images.",
)


def build(path: Path, device: str = "cpu") -> Calculator:
    """An ASE calculator of a TorchScript file of AIMNet2."""
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
            self.charge = atoms.info.get("charge")
            self.results = {"energy": energy, "free_energy": energy, "forces": forces}

        def check_state(self, atoms: Any, tol: float = 1e-15) -> list[str]:
            changes = super().check_state(atoms, tol)
            return [*changes] if getattr(self, "charge", None) == atoms.info.get("charge") else [*changes, "info"]

    return AimNet2(build_batch(path, device))


def build_batch(path: Path, device: str = "cpu") -> AimNet2Batch:
    """The batched evaluator of a TorchScript file of AIMNet2."""
    return AimNet2Batch(_network(path, device), device)


def _network(path: Path, device: str) -> Any:
    """The TorchScript module in a file, which holds a program for torch and no pickled Python."""
    import torch

    try:
        return torch.jit.load(str(path), map_location=require_device(device)).eval()
    except (RuntimeError, ValueError) as error:
        raise AssayError(f"'{path.name}' is not a TorchScript file; give an AIMNet2 model as a .jpt file") from error


def trained_elements(network: Any) -> tuple[int, ...]:
    """Atomic numbers that have a reference energy in the file; for an ensemble, in every member."""
    tables = [p for name, p in network.named_parameters() if name.endswith("atomic_shift.shifts.weight")]
    common = [set(table.detach().flatten().nonzero().flatten().tolist()) for table in tables]
    return tuple(sorted(set.intersection(*common))) if common else ()


class AimNet2Batch:
    """Energies and forces of many molecules, padded with atoms of number 0, in one forward pass."""

    def __init__(self, network: Any, device: str) -> None:
        self.network = network
        self.device = device
        self.known = trained_elements(network)
        for parameter in network.parameters():
            parameter.requires_grad_(False)  # only the gradient by positions is wanted

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        import torch

        if not structures:
            return []
        self._require_possible(structures)
        places = [torch.from_numpy(s.positions.astype(np.float32)) for s in structures]
        numbers = [torch.from_numpy(s.numbers) for s in structures]
        charges = torch.tensor([float(s.charge or 0) for s in structures], device=self.device)
        coordinates = _padded(places).to(self.device).requires_grad_()
        given = {"coord": coordinates, "numbers": _padded(numbers).to(self.device)}
        with torch.jit.optimized_execution(False):  # every batch has its own shape: specialising code never pays
            output = self.network({**given, "charge": charges})
            forces = _forces(output, coordinates)
        energies = output["energy"].detach().cpu().tolist()
        return [(e, f[: len(s)].copy()) for e, f, s in zip(energies, forces, structures, strict=True)]

    def _require_possible(self, structures: Sequence[Structure]) -> None:
        if any(any(s.pbc) for s in structures):
            raise ModelFailure("AIMNet2 takes molecules only, not periodic structures")
        unknown = sorted({int(z) for s in structures for z in s.numbers} - set(self.known))
        if unknown:
            from ase.data import chemical_symbols

            raise ModelFailure(f"AIMNet2 was not trained on {', '.join(chemical_symbols[z] for z in unknown)}")


def _padded(arrays: Sequence[Any]) -> Any:
    """Arrays of different lengths as one, filled up with zeros to two rows at least.

    The file of the ensemble adds up the energies of the whole batch when all its structures are single atoms.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    joined = pad_sequence(list(arrays), batch_first=True)
    return joined if joined.shape[1] > 1 else torch.cat([joined, torch.zeros_like(joined)], dim=1)


def _forces(output: dict[str, Any], coordinates: Any) -> Floats:
    """Forces as the file computes them (ensembles), else from the gradient of the energy."""
    import torch

    forces = output.get("forces")
    if forces is None:
        forces = -torch.autograd.grad(output["energy"].sum(), coordinates)[0]
    return np.asarray(forces.detach().cpu().numpy(), dtype=float)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's own AIMNet2 as a TorchScript file: `aimnet2:FILE`."""
    if importlib.util.find_spec("torch") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'torch'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    elements = trained_elements(_network(path, "cpu"))
    if not elements:
        raise AssayError(f"'{path.name}' has no AIMNet2 reference energies in it; give a model of that family")
    claims = {**_CLAIMS, "elements": elements, "description": "AIMNet2 file of the user"}
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


def _register(name: str, file: str, sha256: str, words: str) -> Registered:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        theory="ωB97M-D3(BJ)/def2-TZVPP",
        licence="MIT (Auto3D)",
        description=f"{words}; molecules of 14 elements, neutral or charged",
        **_CLAIMS,
    )
    return Registered(
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
    "aimnet2": _register("aimnet2", "aimnet2_wb97m-d3_0.jpt", _ONE, "AIMNet2, one network"),
    "aimnet2-ensemble": _register("aimnet2-ensemble", "aimnet2_wb97m_ens_f.jpt", _FOUR, "AIMNet2, mean of four"),
}
