"""SevenNet: equivariant message-passing potentials for 89 elements, with weights in the package `sevenn`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError
from assay.model import Model, ModelCard, digest
from assay.models._checkpoints import load_checked, require_tables
from assay.models._claims import (
    ANY_PERIODICITY,
    ELEMENTS_89,
    MATERIALS_PROJECT_THEORY,
    replaced_vectors_note,
    require_elements,
)
from assay.models._sevennet_batch import SevenNetBatch
from assay.models._torch import DEVICES, require_device
from assay.models.registry import (
    NamedModel,
    checkpoint_card,
    checkpoint_file,
    checkpoint_model,
    package_folder,
    require_package,
)

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "sevennet"
FILE_SCHEME = True
PACKAGES = ("sevenn", "torch", "e3nn")
INSTALL = "pip install 'mlip-assay[sevennet]'"
ELEMENTS = ELEMENTS_89
NOTES = (
    "Built without parity: the energy does not change with rotation, but a mirror image may differ by some meV.",
    replaced_vectors_note("sevenn 0.13"),
)


def build(file: str, head: str | None, device: str = "cpu") -> Calculator:
    """The ASE calculator of a model that comes with `sevenn`; `file` is its path in the package."""
    return _calculator(package_folder("sevenn") / file, head, device)


def build_batch(file: str, head: str | None, device: str = "cpu") -> SevenNetBatch:
    """The batch evaluator of a model that comes with `sevenn`."""
    return SevenNetBatch(build(file, head, device), head)


def build_file(head: str | None, path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a user's checkpoint, which is read without running code from it.

    `sevenn` would run the code in a file, so it gets a copy of what was read without running any.
    """
    import torch

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "checkpoint.pth"
        torch.save(_content(path), copy)
        return _calculator(copy, head, device)


def build_file_batch(head: str | None, path: Path, device: str = "cpu") -> SevenNetBatch:
    """The batch evaluator of a user's checkpoint."""
    return SevenNetBatch(build_file(head, path, device), head)


def _calculator(path: Path, head: str | None, device: str) -> Calculator:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        from ase.calculators.calculator import all_changes
        from sevenn.calculator import SevenNetCalculator

        class Checked(SevenNetCalculator):
            """Refuses unsupported elements with a message; on a GPU they would end the whole process."""

            def set_atoms(self, atoms: Any) -> None:
                """Do nothing: a structure is refused when it is computed, not when it gets the calculator."""

            def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
                require_elements(atoms.numbers.tolist(), self.type_map, "SevenNet")
                super().calculate(atoms, properties, system_changes)

        return Checked(str(path), device=require_device(device), modal=head)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint: `sevennet:FILE`, or `sevennet:FILE@HEAD` for one with several levels of theory."""
    require_package(f"{SCHEME}:{rest}", "sevenn", "sevenn", INSTALL)
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
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        description="SevenNet checkpoint of the user",
        packages=PACKAGES,
        notes=NOTES,
    )
    builders = partial(build_file, head or None), partial(build_file_batch, head or None)
    model = checkpoint_model(card, path, *builders, device=device, devices=DEVICES)
    return _with_head(model, head) if head else model


def _with_head(model: Model, head: str) -> Model:
    """The model of one head, with a name, fingerprint and reference of its own."""
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
    """Settings and weights of a checkpoint; only tensors, numpy arrays and plain containers are created."""
    import torch

    with torch.serialization.safe_globals(_array_classes()):
        content = load_checked(path, allowed=())
    needed = ("config", "model_state_dict")
    require_tables(content, needed, path, "SevenNet")
    if "_type_map" not in content["config"]:
        raise AssayError(f"checkpoint '{path.name}' does not name its elements; train or save it again with SevenNet")
    return {name: content[name] for name in needed}


def _array_classes() -> list[Any]:
    """The classes and the function in a pickled numpy array, under the names that numpy 1 and numpy 2 write."""
    rebuild = np.zeros(0).__reduce__()[0]
    names = [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    return [*names, np.ndarray, np.dtype, *(type(np.dtype(kind)) for kind in ("f8", "f4", "i8", "i4", "?"))]


def _named(name: str, file: str, theory: str, description: str, head: str | None = None) -> NamedModel:
    card = ModelCard(
        name,
        elements=ELEMENTS,
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        theory=theory,
        licence="MIT (sevenn)",
        description=f"{description}; 89 elements, mainly for crystals",
        packages=PACKAGES,
        notes=NOTES,
    )
    place = f"pretrained_potentials/{file}"
    return NamedModel(
        card,
        partial(build, place, head),
        imports=("sevenn",),
        install=INSTALL,
        settings={"head": head or ""},
        inside=("sevenn", place),
        build_batch=partial(build_batch, place, head),
        devices=DEVICES,
    )


_PBE = MATERIALS_PROJECT_THEORY
_MF = "SevenNet_MF_0/checkpoint_sevennet_mf_0.pth"
_ALL = (
    ("sevennet-0", "SevenNet_0__11Jul2024/checkpoint_sevennet_0.pth", _PBE, "SevenNet-0 of 11 July 2024"),
    ("sevennet-0-22may2024", "SevenNet_0__22May2024/checkpoint_sevennet_0.pth", _PBE, "SevenNet-0, first release"),
    ("sevennet-l3i5", "SevenNet_l3i5/checkpoint_l3i5.pth", _PBE, "SevenNet-l3i5: finer angular resolution, slower"),
    ("sevennet-mf-0-pbe", _MF, _PBE, "SevenNet-MF-0 for two levels of theory, PBE head", "PBE"),
    ("sevennet-mf-0-r2scan", _MF, "r2SCAN", "SevenNet-MF-0 for two levels of theory, r2SCAN head", "R2SCAN"),
)
MODELS = {row[0]: _named(*row) for row in _ALL}
