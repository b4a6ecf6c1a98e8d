"""CHGNet: universal potentials that learned magnetic moments too, with weights inside the `chgnet` package.

A batch is one graph of all structures: CHGNet's own graphs are made bond by bond in Python, here by numpy for all.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model, ModelCard
from assay.models._torch import load_checked, require_device
from assay.models.mattersim import bond_pairs
from assay.models.neighbours import Integers, Neighbours, neighbour_pairs
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "chgnet"
FILE_SCHEME = True
DEVICES = ("cpu", "cuda")
PACKAGES = ("chgnet", "torch", "pymatgen")
INSTALL = "pip install 'mlip-assay[chgnet]'"
PBC = ("FFF", *PERIODIC_PATTERNS)
ELEMENTS = (*range(1, 84), *range(89, 95))
"""H to Bi and Ac to Pu: the elements of the Materials Project trajectories."""

NOTES = (
    "CHGNet itself asks for three cell vectors; Assay adds those that are missing, along directions without "
    "periodicity, which changes nothing but lets molecules be computed without a box. Such structures get no stress.",
)


def build(file: str, device: str = "cpu") -> Calculator:
    """The ASE calculator of a model that comes with `chgnet`; `file` is its place in the package."""
    found = importlib.util.find_spec("chgnet")
    roots = list(found.submodule_search_locations or []) if found is not None else []
    if not roots:
        raise AssayError(f"CHGNet needs the package 'chgnet'; install it: {INSTALL}")
    return build_file(Path(roots[0]) / file, device)


def build_batch(file: str, device: str = "cpu") -> ChgnetBatch:
    """The batched evaluator of a model that comes with `chgnet`."""
    return ChgnetBatch(build(file, device))


def build_file_batch(path: Path, device: str = "cpu") -> ChgnetBatch:
    """The batched evaluator of a user's checkpoint."""
    return ChgnetBatch(build_file(path, device))


def build_file(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a checkpoint; nothing but tensors and plain containers is read from the file."""
    warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad=True")
    with redirect_stdout(StringIO()):  # CHGNet greets on the terminal
        from ase.calculators.calculator import all_changes
        from chgnet.model.dynamics import CHGNetCalculator

        class WithCell(CHGNetCalculator):
            def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
                if atoms.cell.rank == 3:
                    return super().calculate(atoms, properties, system_changes)
                completed = atoms.copy()
                completed.cell = atoms.cell.complete()
                super().calculate(completed, properties, system_changes)
                self.atoms = atoms.copy()  # what ASE compares the next structure with
                del self.results["stress"]  # it would be per volume of a made-up cell

        return WithCell(model=_network(path, require_device(device)), use_device=device, on_isolated_atoms="ignore")


def _network(path: Path, device: str) -> Any:
    from chgnet.model.model import CHGNet

    content = _content(path)
    # Files do not say whether layers have an offset, as in CHGNet 0.2.0, but hold it if they do.
    offsets = any(".mlp_out." in name and name.endswith(".bias") for name in content["state_dict"])
    try:
        settings = {**content["model_args"], "mlp_out_bias": offsets}
        return CHGNet.from_dict({**content, "model_args": settings}).to(device)
    except (RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[-1].strip()
        raise AssayError(f"the weights in '{path.name}' do not fit its settings ({reason}); save it again") from error


def _content(path: Path) -> dict[str, Any]:
    """Settings and weights of a checkpoint."""
    content = load_checked(path, ())
    inner = content.get("model") if isinstance(content, dict) else None
    if not isinstance(inner, dict) or any(not isinstance(inner.get(k), dict) for k in ("model_args", "state_dict")):
        raise AssayError(f"'{path.name}' is not a CHGNet checkpoint; give a file that CHGNet's training wrote")
    return inner


class ChgnetBatch:
    """Energies and forces of many structures from one graph."""

    def __init__(self, calculator: Any) -> None:
        self.network = calculator.model.eval()
        self.device = next(self.network.parameters()).device
        self.cutoff = float(self.network.graph_converter.atom_graph_cutoff)
        self.angle_cutoff = float(self.network.graph_converter.bond_graph_cutoff)
        self.known = self.network.atom_embedding.embedding.num_embeddings
        for parameter in self.network.parameters():
            parameter.requires_grad_(False)  # only the gradient by positions is wanted

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        import torch

        if not structures:
            return []
        numbers = np.concatenate([s.numbers for s in structures])
        if numbers.max() > self.known:
            raise ModelFailure(f"CHGNet knows elements up to {self.known}, not {numbers.max()}")
        pairs = neighbour_pairs(structures, self.cutoff)
        if 0 < (angular := self._has_angles(pairs)).sum() < len(structures):
            return self._apart(structures, angular)
        graph = self._graph(structures, numbers, pairs)
        counts = torch.as_tensor(np.diff(pairs.offsets), device=self.device)
        per_cell = self.network._compute(graph)["e"] * (counts if self.network.is_intensive else 1)
        slope = torch.autograd.grad(per_cell.sum(), graph.atom_positions[0], allow_unused=True)[0]
        forces = np.zeros((len(numbers), 3)) if slope is None else -slope.cpu().numpy().astype(float)
        energies = per_cell.detach().cpu().numpy().astype(float) + self._reference(numbers, pairs)
        split = np.split(forces, pairs.offsets[1:-1])
        return [(energy, own.copy()) for energy, own in zip(energies.tolist(), split, strict=True)]

    def _has_angles(self, pairs: Neighbours) -> NDArray[np.bool_]:
        """Whether each structure has an atom with two short bonds."""
        near = np.linalg.norm(pairs.vector, axis=1) < self.angle_cutoff
        bonds = np.bincount(pairs.first[near], minlength=len(pairs.atom_structure))
        crowded = np.bincount(pairs.atom_structure[bonds > 1], minlength=len(pairs.offsets) - 1)
        return np.asarray(crowded > 0)

    def _apart(self, structures: Sequence[Structure], angular: NDArray[np.bool_]) -> list[tuple[float, Floats]]:
        """Structures without angles on their own: CHGNet leaves out a layer for them, whose offset (0.2.0) matters."""
        found: dict[int, tuple[float, Floats]] = {}
        for chosen in (np.flatnonzero(angular), np.flatnonzero(~angular)):
            found |= dict(zip(chosen.tolist(), self.evaluate([structures[int(i)] for i in chosen]), strict=True))
        return [found[i] for i in range(len(structures))]

    def _reference(self, numbers: Integers, pairs: Neighbours) -> Floats:
        """The part of the energy (eV) that depends on the composition only."""
        if self.network.composition_model is None:
            return np.zeros(len(pairs.offsets) - 1)
        own = self.network.composition_model.fc.weight.detach().cpu().numpy().ravel().astype(float)
        total = np.bincount(pairs.atom_structure, own[numbers - 1], minlength=len(pairs.offsets) - 1)
        return np.asarray(total, dtype=float)

    def _graph(self, structures: Sequence[Structure], numbers: Integers, pairs: Neighbours) -> Any:
        """CHGNet's batched graph: atoms, bonds in both directions, bonds without direction, and pairs of bonds."""
        import torch
        from chgnet.model.model import BatchedGraph

        def tensor(values: np.ndarray, kind: Any = torch.int64) -> Any:
            return torch.as_tensor(values, dtype=kind, device=self.device)

        undirected, one_way = undirected_bonds(pairs)
        angles, _ = bond_pairs(pairs.first, np.linalg.norm(pairs.vector, axis=1) < self.angle_cutoff)
        # Single precision wastes fewer digits on atoms near the origin.
        positions = tensor(np.concatenate([s.positions - s.positions[0] for s in structures]), torch.float32)
        positions.requires_grad_(True)
        cells = np.stack([s.cell for s in structures])
        moves = tensor(np.einsum("ei,eij->ej", pairs.shift, cells[pairs.structure]), torch.float32)
        bonds = tensor(np.stack([pairs.first, pairs.second], axis=1))
        ends = (positions[bonds[:, 0]], positions[bonds[:, 1]])
        identity = torch.eye(3, device=self.device)
        for_atoms, for_bonds, directions = self.network.bond_basis_expansion(*ends, tensor(one_way), moves, identity)
        left, right = tensor(angles[:, 0]), tensor(angles[:, 1])
        bases = self.network.angle_basis_expansion(directions[left], directions[right]) if len(angles) else left
        return BatchedGraph(
            atomic_numbers=tensor(numbers),
            bond_bases_ag=for_atoms,
            bond_bases_bg=for_bonds,
            angle_bases=bases,
            batched_atom_graph=bonds,
            batched_bond_graph=tensor(np.stack([pairs.first[angles[:, 0]], *undirected[angles.T]], axis=1)),
            atom_owners=tensor(pairs.atom_structure),
            directed2undirected=tensor(undirected),
            atom_positions=[positions],
            strains=[],
            volumes=[],
        )


def undirected_bonds(pairs: Neighbours) -> tuple[Integers, Integers]:
    """The number of the bond that each directed one belongs to, and one directed bond of each."""
    there = np.column_stack([pairs.first, pairs.second, pairs.shift])
    back = np.column_stack([pairs.second, pairs.first, -pairs.shift])
    differ = there != back
    column = differ.argmax(axis=1)
    rows = np.arange(len(there))
    forward = there[rows, column] < back[rows, column]
    same = np.where(forward[:, None], there, back)
    order = np.lexsort(same.T[::-1])  # the two directions of a bond are now neighbours
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order)) // 2
    return number, order[::2]


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `chgnet:FILE`."""
    if importlib.util.find_spec("chgnet") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'chgnet'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    _content(path)
    card = checkpoint_card(
        SCHEME,
        path,
        pbc=PBC,
        charge=False,
        spin=False,
        precision="float32",
        description="CHGNet checkpoint of the user",
        packages=PACKAGES,
        notes=(*NOTES, "A CHGNet checkpoint does not say which elements it was trained on."),
    )
    return checkpoint_model(card, path, build_file, build_file_batch, device, DEVICES)


def _register(version: str, file: str, elements: tuple[int, ...], theory: str, description: str) -> Registered:
    card = ModelCard(
        f"chgnet-{version}",
        elements=elements,
        pbc=PBC,
        charge=False,
        spin=False,
        precision="float32",
        theory=theory,
        licence="Modified BSD (weights and chgnet)",
        description=description,
        packages=PACKAGES,
        notes=NOTES,
    )
    place = f"pretrained/{version}/{file}"
    return Registered(
        card,
        partial(build, place),
        imports=("chgnet",),
        install=INSTALL,
        inside=("chgnet", place),
        build_batch=partial(build_batch, place),
        devices=DEVICES,
    )


_PBE = "PBE (+U for some oxides), as in the Materials Project"
# Nothing with ytterbium was in the r2SCAN data: its energy of the element is zero.
_R2SCAN = tuple(z for z in ELEMENTS if z != 70)
_ALL = (
    ("0.3.0", "chgnet_0.3.0_e29f68s314m37.pth.tar", ELEMENTS, _PBE, "CHGNet 0.3.0: universal, 89 elements"),
    ("0.2.0", "chgnet_0.2.0_e30f77s348m32.pth.tar", ELEMENTS, _PBE, "CHGNet 0.2.0: the first release, 89 elements"),
    (
        "r2scan",
        "chgnet_r2scan_transfer_learning_e15f36s161m23.pth.tar",
        _R2SCAN,
        "r2SCAN, as in the Materials Project",
        "CHGNet 0.3.0 trained further at the r2SCAN level, 88 elements",
    ),
)
MODELS = {f"chgnet-{row[0]}": _register(*row) for row in _ALL}
