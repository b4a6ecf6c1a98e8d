"""SevenNet: equivariant message-passing potentials for 89 elements, with weights inside the `sevenn` package.

A batch is one graph: all structures side by side, with no edges between them, in one forward pass.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model, ModelCard, digest
from assay.models._torch import load_checked, require_device
from assay.models.neighbours import neighbour_pairs
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "sevennet"
FILE_SCHEME = True
DEVICES = ("cpu", "cuda")
INSTALL = "pip install 'mlip-assay[sevennet]'"
ELEMENTS = (*range(1, 84), *range(89, 95))
"""H to Bi and Ac to Pu: the elements of the Materials Project, on which the shipped models were trained."""

NOTES = (
    "Built without parity: the energy follows rotations exactly, but a mirror image may differ by some meV.",
    "With some but not all directions periodic, the calculator of sevenn 0.13 replaces cell vector 1, 2 or 3, where it "
    "is not periodic, by one along x, y or z, and refuses structures with a periodic vector along the same axis.",
)


def build(file: str, head: str | None, device: str = "cpu") -> Calculator:
    """The ASE calculator of a model that comes with `sevenn`; `file` is its place in the package."""
    found = importlib.util.find_spec("sevenn")
    roots = list(found.submodule_search_locations or []) if found is not None else []
    if not roots:
        raise AssayError(f"SevenNet needs the package 'sevenn'; install it: {INSTALL}")
    return _calculator(Path(roots[0]) / file, head, device)


def build_batch(file: str, head: str | None, device: str = "cpu") -> SevenNetBatch:
    """The batched evaluator of a model that comes with `sevenn`."""
    return SevenNetBatch(build(file, head, device), head)


def build_file(head: str | None, path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a user's checkpoint, which is read without running code from it.

    `sevenn` itself unpickles whatever a file holds, so it gets a copy of the part that was read safely.
    """
    import torch

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkpoint.pth"
        torch.save(_content(path), copy)
        return _calculator(copy, head, device)


def build_file_batch(head: str | None, path: Path, device: str = "cpu") -> SevenNetBatch:
    """The batched evaluator of a user's checkpoint."""
    return SevenNetBatch(build_file(head, path, device), head)


def _calculator(path: Path, head: str | None, device: str) -> Calculator:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        from ase.calculators.calculator import all_changes
        from sevenn.calculator import SevenNetCalculator

        class Checked(SevenNetCalculator):
            """Refuses unknown elements in words; on a GPU they would bring down the whole process."""

            def set_atoms(self, atoms: Any) -> None:
                """Nothing: a structure is refused when it is computed, not when the calculator is attached to it."""

            def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
                _require_known(atoms.numbers, self.type_map)
                super().calculate(atoms, properties, system_changes)

        return Checked(str(path), device=require_device(device), modal=head)


def _require_known(numbers: np.ndarray, known: dict[int, int]) -> None:
    unknown = sorted(set(numbers.tolist()) - set(known))
    if unknown:
        from ase.data import chemical_symbols

        raise ModelFailure(f"SevenNet does not know {', '.join(chemical_symbols[z] for z in unknown)}")


class SevenNetBatch:
    """Energies and forces of many structures from one graph."""

    def __init__(self, calculator: Any, head: str | None) -> None:
        self.model = calculator.model
        self.cutoff = float(calculator.cutoff)
        self.known = calculator.type_map
        self.device = calculator.device
        self.head = self.model.modal_map[head] if head else None
        self.model.set_is_batch_data(True)
        self.model.eval_modal_map = False  # the head is given as a number here, not as a word per structure
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)  # only the gradient by positions is wanted

    def evaluate(self, structures: Sequence[Structure]) -> Sequence[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure, in the order given."""
        import sevenn._keys as key
        import torch

        if not structures:
            return []
        graph, offsets = self._graph(structures)
        with torch.jit.optimized_execution(False):  # every batch has its own shape: specialising code never pays
            output = self.model(graph)
        energies = output[key.PRED_TOTAL_ENERGY].detach().cpu().numpy().astype(float)
        forces = output[key.PRED_FORCE].detach().cpu().numpy().astype(float)
        return list(zip(energies.tolist(), np.split(forces, offsets[1:-1]), strict=True))

    def _graph(self, structures: Sequence[Structure]) -> tuple[dict[str, Any], np.ndarray]:
        """The input of the network, and where the atoms of each structure begin."""
        import sevenn._keys as key
        import torch

        numbers = np.concatenate([s.numbers for s in structures])
        _require_known(numbers, self.known)
        pairs = neighbour_pairs(structures, self.cutoff)
        counts = np.diff(pairs.offsets)
        graph = {
            key.NODE_FEATURE: torch.from_numpy(numbers),
            key.ATOMIC_NUMBERS: torch.from_numpy(numbers),
            key.EDGE_IDX: torch.from_numpy(np.stack([pairs.first, pairs.second])),
            key.EDGE_VEC: torch.from_numpy(pairs.vector.astype(np.float32)),
            key.CELL_VOLUME: torch.ones(len(structures)),  # only the stress, which nobody asks for, divides by it
            key.NUM_ATOMS: torch.from_numpy(counts),
            key.BATCH: torch.from_numpy(pairs.atom_structure),
        }
        if self.head is not None:
            graph[key.MODAL_TYPE] = torch.full((len(structures),), self.head)
        return {name: tensor.to(self.device) for name, tensor in graph.items()}, pairs.offsets


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint: `sevennet:FILE`, or `sevennet:FILE@HEAD` for one that was trained on several levels."""
    if importlib.util.find_spec("sevenn") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'sevenn'; install it: {INSTALL}")
    name, at, head = rest.rpartition("@")
    if not at or Path(rest).expanduser().is_file():
        name, head = rest, ""
    path = checkpoint_file(SCHEME, name)
    config = _content(path)["config"]
    _require_head(path, head, list(config.get("_modal_map") or {}))
    card = checkpoint_card(
        SCHEME,
        path,
        elements=config["_type_map"],
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=False,
        spin=False,
        precision="float32",
        description="SevenNet checkpoint of the user",
        packages=("sevenn", "torch", "e3nn"),
        notes=NOTES,
    )
    chosen = head or None
    model = checkpoint_model(
        card, path, partial(build_file, chosen), partial(build_file_batch, chosen), device=device, devices=DEVICES
    )
    return _with_head(model, head) if head else model


def _with_head(model: Model, head: str) -> Model:
    """The model of one head: another name, another fingerprint, and other processes must ask for the same head."""
    assert model.reference is not None
    return replace(
        model,
        card=replace(model.card, name=f"{model.card.name}@{head}"),
        fingerprint=digest(model.fingerprint, head),
        reference=replace(model.reference, spec=f"{model.reference.spec}@{head}"),
    )


def _require_head(path: Path, head: str, heads: Sequence[str]) -> None:
    if head in heads or not (head or heads):
        return
    if not heads:
        raise AssayError(f"checkpoint '{path.name}' has no heads; leave out '@{head}'")
    choice = " or ".join(f"{SCHEME}:{path.name}@{one}" for one in heads)
    raise AssayError(f"checkpoint '{path.name}' has several heads and none is called '{head}'; write {choice}")


def _content(path: Path) -> dict[str, Any]:
    """Settings and weights of a checkpoint; nothing but tensors, numpy arrays and plain containers is created."""
    import torch

    with torch.serialization.safe_globals(_array_classes()):
        content = load_checked(path, allowed=())
    needed = ("config", "model_state_dict")
    if not isinstance(content, dict) or any(not isinstance(content.get(name), dict) for name in needed):
        raise AssayError(f"'{path.name}' is not a SevenNet checkpoint; give a file that SevenNet's training wrote")
    if "_type_map" not in content["config"]:
        raise AssayError(f"checkpoint '{path.name}' does not say which elements it knows; train or export it again")
    return {name: content[name] for name in needed}


def _array_classes() -> list[Any]:
    """What a pickled numpy array is rebuilt with, under the names that numpy 1 and numpy 2 write."""
    rebuild = np.zeros(0).__reduce__()[0]
    names = [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    return [*names, np.ndarray, np.dtype, *(type(np.dtype(kind)) for kind in ("f8", "f4", "i8", "i4", "?"))]


def _register(name: str, file: str, theory: str, description: str, head: str | None = None) -> Registered:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=False,
        spin=False,
        precision="float32",
        theory=theory,
        licence="MIT (sevenn)",
        description=description,
        packages=("sevenn", "torch", "e3nn"),
        notes=NOTES,
    )
    place = f"pretrained_potentials/{file}"
    return Registered(
        card,
        partial(build, place, head),
        imports=("sevenn",),
        install=INSTALL,
        settings={"head": head or ""},
        inside=("sevenn", place),
        build_batch=partial(build_batch, place, head),
        devices=DEVICES,
    )


_PBE = "PBE (+U for some oxides), as in the Materials Project"
_MF = "SevenNet_MF_0/checkpoint_sevennet_mf_0.pth"
_ALL = (
    ("sevennet-0", "SevenNet_0__11Jul2024/checkpoint_sevennet_0.pth", _PBE, "SevenNet-0 of 11 July 2024", None),
    (
        "sevennet-0-22may2024",
        "SevenNet_0__22May2024/checkpoint_sevennet_0.pth",
        _PBE,
        "SevenNet-0, first release",
        None,
    ),
    ("sevennet-l3i5", "SevenNet_l3i5/checkpoint_l3i5.pth", _PBE, "SevenNet-l3i5: finer in angles, slower", None),
    ("sevennet-mf-0-pbe", _MF, _PBE, "SevenNet-MF-0 of two levels of theory, PBE head", "PBE"),
    ("sevennet-mf-0-r2scan", _MF, "r2SCAN", "SevenNet-MF-0 of two levels of theory, r2SCAN head", "R2SCAN"),
)
MODELS = {
    name: _register(name, file, theory, f"{words}; 89 elements, crystals first", head)
    for name, file, theory, words, head in _ALL
}
