"""MACE: equivariant message-passing potentials.

Two models have names: a small one for organic molecules and a small one for 89 elements. Checkpoints of your own are
`mace:FILE`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.model import Model, ModelCard
from assay.models._checkpoints import load_trusted
from assay.models._claims import (
    ANY_PERIODICITY,
    ELEMENTS_89,
    MATERIALS_PROJECT_THEORY,
    replaced_vectors_note,
)
from assay.models._janus import janus_weights
from assay.models._mace_batch import MaceBatch
from assay.models._mace_checkpoint import default_precision, import_mace, precision_of, read_network
from assay.models._torch import DEVICES, require_device
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "mace"
FILE_SCHEME = True
PACKAGES = ("mace-torch", "torch", "e3nn")
INSTALL = "pip install 'mlip-assay[mace]'"
NOTES = (replaced_vectors_note("mace-torch 0.3"),)


def build(precision: str, path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a named model in the given precision; `path` is the downloaded file."""
    import_mace()
    return _calculator(load_trusted(path, device), precision, device)


def build_batch(precision: str, path: Path, device: str = "cpu") -> MaceBatch:
    """The batch evaluator of a named model."""
    return MaceBatch(build(precision, path, device))


def build_file(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a user's checkpoint, in the precision of its weights."""
    network = read_network(path, device)
    return _calculator(network, precision_of(network), device)


def build_file_batch(path: Path, device: str = "cpu") -> MaceBatch:
    """The batch evaluator of a user's checkpoint."""
    return MaceBatch(build_file(path, device))


def _calculator(network: Any, precision: str, device: str) -> Calculator:
    import torch
    from ase.calculators.calculator import all_changes

    class KeepsDefaults(import_mace().calculators.MACECalculator):  # type: ignore[misc]
        """Restores the default precision of torch, which MACE changes when it refuses a structure."""

        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            with default_precision():
                super().calculate(atoms, properties, system_changes)

    network = network.to(device=require_device(device), dtype=getattr(torch, precision))
    calculator = KeepsDefaults(models=[network], device=device, default_dtype=precision)
    used = next(network.parameters())
    calculator.as_used = {"precision": precision_of(network), "device": str(used.device.type)}
    return calculator


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `mace:FILE`: a file that the training program of MACE saved."""
    require_package(f"{SCHEME}:{rest}", "mace", "mace-torch", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    network = read_network(path, "cpu")
    embeds = hasattr(network, "joint_embedding")  # such a model may read charge and spin, the batch evaluator does not
    card = checkpoint_card(
        SCHEME,
        path,
        elements=[int(z) for z in network.atomic_numbers],
        pbc=ANY_PERIODICITY,
        charge=None if embeds else False,
        spin=None if embeds else False,
        precision=precision_of(network),
        description="MACE checkpoint of the user",
        packages=PACKAGES,
        notes=NOTES,
    )
    return checkpoint_model(card, path, build_file, None if embeds else build_file_batch, device, DEVICES)


def _named(name: str, file: tuple[str, str], precision: str, **claims: Any) -> NamedModel:
    """A named model; `file` is its name in the archive and its sha256."""
    card = ModelCard(
        name,
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision=precision,
        packages=PACKAGES,
        notes=NOTES,
        **claims,
    )
    return NamedModel(
        card,
        partial(build, precision),
        imports=("mace",),
        install=INSTALL,
        settings={"precision": precision},
        weights=janus_weights(*file),
        build_batch=partial(build_batch, precision),
        devices=DEVICES,
    )


MODELS = {
    "mace-off23-small": _named(
        "mace-off23-small",
        ("MACE-OFF23_small.model", "165cce4cfec5a34b9c64d4ebf95de15d71106bb584b7291c8470f0749977c46f"),
        "float64",
        elements=(1, 6, 7, 8, 9, 15, 16, 17, 35, 53),
        theory="ωB97M-D3(BJ)/def2-TZVPPD",
        licence="Academic Software License: non-commercial use only (weights); MIT (mace-torch)",
        description="MACE-OFF23 small: organic molecules and liquids of H C N O F P S Cl Br I",
    ),
    "mace-mp-0-small": _named(
        "mace-mp-0-small",
        ("mace_mp_small.model", "2ddb079cee0e131eaaf6912ba581b394551ead283e95c99cfe78c605d10b5736"),
        "float32",
        elements=ELEMENTS_89,
        theory=MATERIALS_PROJECT_THEORY,
        licence="MIT (weights and mace-torch)",
        description="MACE-MP-0 small: universal, 89 elements, mainly for crystals",
    ),
}
