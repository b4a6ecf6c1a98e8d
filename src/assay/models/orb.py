"""Orb: universal graph networks that predict forces directly, not as the gradient of the energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError
from assay.model import ModelCard
from assay.models._batches import Answer, split_answers
from assay.models._checkpoints import load_checked
from assay.models._claims import ELEMENTS_89, require_elements, require_neutral
from assay.models._janus import janus_weights
from assay.models._torch import DEVICES, require_device, to_floats
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package
from assay.structure import Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator, Model

SCHEME = "orb"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[orb]'"

CUTOFF = 6.0
MAX_NEIGHBOURS = 20
"""Every Orb v2 model uses the 20 nearest neighbours within 6 Å."""

ELEMENTS = ELEMENTS_89
"""The elements of the crystals in the training data (MPtrj and Alexandria)."""


def build(path: Path, device: str = "cpu", elements: tuple[int, ...] | None = ELEMENTS) -> Calculator:
    """The ASE calculator of Orb, for neutral structures of the given elements (all if None).

    Orb itself answers for every element up to 117. It stops with an error if it gets a charge without a spin, but it
    uses neither of them.
    """
    from ase.calculators.calculator import all_changes
    from orb_models.forcefield.calculator import ORBCalculator

    class Claimed(ORBCalculator):
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            super().calculate(_without_info(atoms, elements), properties, system_changes)

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            changes = super().check_state(atoms, tol)
            return [*changes, "info"] if atoms.info.get("charge") else changes

    return Claimed(_network(path, device), device=device)


def build_batch(path: Path, device: str = "cpu", elements: tuple[int, ...] | None = ELEMENTS) -> BatchEvaluator:
    """The batch evaluator: many structures in one graph."""
    return OrbBatch(_network(path, device), device, elements)


class OrbBatch:
    """Energies and forces of many structures in one pass; each graph is made as in the calculator."""

    def __init__(self, network: Any, device: str, elements: tuple[int, ...] | None) -> None:
        self.network = network
        self.device = device
        self.elements = elements

    def evaluate(self, structures: Sequence[Structure]) -> list[Answer]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        from orb_models.forcefield.atomic_system import ase_atoms_to_atom_graphs
        from orb_models.forcefield.base import batch_graphs

        if not structures:
            return []
        bare = [_without_info(s.to_atoms(), self.elements) for s in structures]
        settings = self.network.system_config
        graphs = [ase_atoms_to_atom_graphs(atoms, settings, device=self.device) for atoms in bare]
        output = self.network.predict(batch_graphs(graphs))
        offsets = np.concatenate([[0], np.cumsum([len(s) for s in structures])])
        return split_answers(to_floats(output["energy"]).reshape(-1), to_floats(output["forces"]), offsets)


def _without_info(atoms: Atoms, elements: tuple[int, ...] | None) -> Atoms:
    """A copy without charge and spin; `ModelFailure` if the structure is charged or has unsupported elements."""
    if elements is not None:
        require_elements(atoms.numbers.tolist(), elements, "this Orb model")
    require_neutral(atoms.info.get("charge"), "this Orb model")
    bare = atoms.copy()
    bare.info = {}
    return bare


def _network(path: Path, device: str) -> Any:
    """The network of an Orb v2 checkpoint in single precision; its number of layers is read from the file.

    Orb keeps random numbers for weights that are missing in the file. So all weights are set to NaN first, and none may
    be NaN afterwards.
    """
    import torch
    from orb_models.forcefield import pretrained
    from orb_models.forcefield.atomic_system import SystemConfig

    weights = load_checked(path, (), require_device(device))
    shape = SystemConfig(radius=CUTOFF, max_num_neighbors=MAX_NEIGHBOURS)
    network = pretrained.orb_v2_architecture(_layers(path, weights), device, shape).to(torch.float32)
    for value in network.state_dict().values():
        if value.is_floating_point():
            value.fill_(torch.nan)
    try:
        network.load_state_dict(weights)
    except (RuntimeError, AssertionError) as error:
        raise _incomplete(path, str(error).splitlines()[0]) from error
    missing = [name for name, value in network.state_dict().items() if value.isnan().any()]
    if missing:
        raise _incomplete(path, f"it has no '{missing[0]}'")
    return network.to(device).eval().requires_grad_(False)


def _layers(path: Path, weights: object) -> int:
    """The number of message-passing layers for which the checkpoint has weights."""
    names = [name for name in weights if isinstance(name, str)] if isinstance(weights, Mapping) else []
    layers = [int(name.partition("gnn_stacks.")[2].partition(".")[0]) for name in names if "gnn_stacks." in name]
    if not layers:
        raise _incomplete(path, "it has no message-passing layers")
    return max(layers) + 1


def _incomplete(path: Path, reason: str) -> AssayError:
    return AssayError(f"'{path.name}' is not a complete Orb v2 checkpoint ({reason}); give the weights of such a model")


NOTES = (
    "Forces are predicted separately and are not the gradient of the energy: they do work around closed paths.",
    "Directions enter the network as plain numbers: the energy changes when a structure is rotated or inverted.",
    "Only the 20 nearest neighbours within 6 Å are used. When they change, the energy jumps, by 0.1 meV in copper.",
    "Without a cell, the net torque is removed from the forces; with a cell, periodic or not, it is not. So the forces "
    "on ethanol in a box differ by 0.12 eV/Å from those without a box.",
    "Orb refuses structures that are periodic in one or two directions; put them into a periodic box with vacuum.",
)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's Orb v2 checkpoint, such as a fine-tuned one: `orb:FILE`."""
    require_package(f"{SCHEME}:{rest}", "orb_models", "orb-models", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    _layers(path, load_checked(path, ()))
    card = checkpoint_card(
        SCHEME,
        path,
        pbc=("FFF", "TTT"),
        charge=False,
        spin=False,
        precision="float32",
        description="Orb v2 checkpoint of the user",
        packages=("orb-models", "torch"),
        notes=NOTES,
    )
    builders = partial(build, elements=None), partial(build_batch, elements=None)
    return checkpoint_model(card, path, *builders, device=device, devices=DEVICES)


MODELS = {
    "orb-d3-xs-v2": NamedModel(
        ModelCard(
            "orb-d3-xs-v2",
            elements=ELEMENTS,
            pbc=("FFF", "TTT"),
            charge=False,
            spin=False,
            precision="float32",
            theory="PBE with D3 dispersion (MPtrj and Alexandria)",
            licence="Apache-2.0",
            description="Orb-d3-xs-v2: 89 elements, mainly for crystals; not conservative, so it fails verification",
            packages=("orb-models", "torch"),
            notes=NOTES,
        ),
        build,
        imports=("orb_models", "torch"),
        install=INSTALL,
        settings={"precision": "float32-highest", "compile": False},
        weights=janus_weights(
            "orb-d3-xs-v2-20241011.ckpt", "623f2fe8c1a3993325df101081c919ef62fdf11fa4fa9b47e21bea4cec36eb56"
        ),
        build_batch=build_batch,
        devices=DEVICES,
    ),
}
