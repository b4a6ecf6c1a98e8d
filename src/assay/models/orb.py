"""Orb: universal graph networks that predict forces directly, instead of as the slope of their energy."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import AssayError, ModelFailure
from assay.model import ModelCard
from assay.models._torch import load_checked, require_device
from assay.models.registry import Registered, checkpoint_card, checkpoint_file, checkpoint_model
from assay.models.weights import PackagedFile
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

    from assay.model import BatchEvaluator, Model

SCHEME = "orb"
FILE_SCHEME = True
INSTALL = "pip install 'mlip-assay[orb]'"

CUTOFF = 6.0
NEIGHBOURS = 20
"""Every Orb v2 sees atoms within 6 Å, and of those the 20 nearest."""

ELEMENTS = tuple(z for z in range(1, 95) if z not in (84, 85, 86, 87, 88))
"""H to Pu without Po, At, Rn, Fr and Ra: the elements of the crystals (MPtrj, Alexandria) that it was trained on."""


def build(path: Path, device: str = "cpu", elements: tuple[int, ...] | None = ELEMENTS) -> Calculator:
    """Orb's own calculator, which answers for the claimed elements and for neutral systems only.

    Orb itself answers for every element up to 117, and stops when it is told the charge but not the spin; it uses
    neither.
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
    """Many structures as one graph."""
    return OrbBatch(_network(path, device), device, elements)


class OrbBatch:
    """Orb on a list of structures in one pass; each graph is made as its calculator makes it."""

    def __init__(self, network: Any, device: str, elements: tuple[int, ...] | None) -> None:
        self.network = network
        self.device = device
        self.elements = elements

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        from orb_models.forcefield.atomic_system import ase_atoms_to_atom_graphs
        from orb_models.forcefield.base import batch_graphs

        if not structures:
            return []
        bare = [_without_info(s.to_atoms(), self.elements) for s in structures]
        settings = self.network.system_config
        graphs = [ase_atoms_to_atom_graphs(atoms, settings, device=self.device) for atoms in bare]
        found = self.network.predict(batch_graphs(graphs))
        energies = found["energy"].detach().cpu().numpy().astype(float).reshape(-1)
        forces = found["forces"].detach().cpu().numpy().astype(float)
        ends = np.cumsum([len(s) for s in structures])[:-1]
        return [(float(e), f.copy()) for e, f in zip(energies, np.split(forces, ends), strict=True)]


def _without_info(atoms: Atoms, elements: tuple[int, ...] | None) -> Atoms:
    """The bare atoms, if they are neutral and of elements that the model was trained on."""
    beyond = sorted(set(atoms.numbers.tolist()) - set(elements)) if elements is not None else []
    if beyond:
        raise ModelFailure(f"the model was not trained on the element with atomic number {beyond[0]}")
    if atoms.info.get("charge"):
        raise ModelFailure(f"the model knows neutral systems only, not the charge {atoms.info['charge']}")
    bare = atoms.copy()
    bare.info = {}
    return bare


def _network(path: Path, device: str) -> Any:
    """The network of an Orb v2 checkpoint in single precision; how many layers it has is read from the file.

    Orb's own loader leaves at random whatever the file lacks, so everything is NaN before and must not be afterwards.
    """
    import torch
    from orb_models.forcefield import pretrained
    from orb_models.forcefield.atomic_system import SystemConfig

    weights = load_checked(path, (), require_device(device))
    shape = SystemConfig(radius=CUTOFF, max_num_neighbors=NEIGHBOURS)
    network = pretrained.orb_v2_architecture(_layers(path, weights), device, shape).to(torch.float32)
    for value in network.state_dict().values():
        if value.is_floating_point():
            value.fill_(torch.nan)
    try:
        network.load_state_dict(weights)
    except (RuntimeError, AssertionError) as error:
        raise _foreign(path, str(error).splitlines()[0]) from error
    missing = [name for name, value in network.state_dict().items() if value.isnan().any()]
    if missing:
        raise _foreign(path, f"it has no '{missing[0]}'")
    return network.to(device).eval().requires_grad_(False)


def _layers(path: Path, weights: object) -> int:
    """How many rounds of message passing the checkpoint has weights for."""
    names = [name for name in weights if isinstance(name, str)] if isinstance(weights, Mapping) else []
    found = [int(name.partition("gnn_stacks.")[2].partition(".")[0]) for name in names if "gnn_stacks." in name]
    if not found:
        raise _foreign(path, "it has no message-passing layers")
    return max(found) + 1


def _foreign(path: Path, why: str) -> AssayError:
    return AssayError(f"'{path.name}' is not a complete Orb v2 checkpoint ({why}); give the weights of such a model")


NOTES = (
    "Forces are an output of their own and not the slope of the energy: they do work around closed paths.",
    "Directions enter the network as plain numbers: energies change when a structure is turned or inverted.",
    "Only the 20 nearest neighbours within 6 Å count; as they change the energy jumps, by 0.1 meV in copper.",
    "Net torque is removed from forces unless there is a cell, periodic or not: boxed ethanol differs by 0.12 eV/Å.",
    "Structures that are periodic along one or two directions are refused by Orb; put them into a box with vacuum.",
)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's own Orb v2 checkpoint, such as a fine-tuned one: `orb:FILE`."""
    if importlib.util.find_spec("orb_models") is None:
        raise AssayError(f"'{SCHEME}:{rest}' needs the package 'orb-models'; install it: {INSTALL}")
    path = checkpoint_file(SCHEME, rest)
    _layers(path, load_checked(path, ()))
    card = checkpoint_card(
        SCHEME,
        path,
        pbc=("FFF", "TTT"),
        charge=False,
        spin=False,
        precision="float32",
        description="An Orb v2 checkpoint of your own",
        packages=("orb-models", "torch"),
        notes=NOTES,
    )
    builders = partial(build, elements=None), partial(build_batch, elements=None)
    return checkpoint_model(card, path, *builders, device=device, devices=("cpu", "cuda"))


MODELS = {
    "orb-d3-xs-v2": Registered(
        ModelCard(
            "orb-d3-xs-v2",
            elements=ELEMENTS,
            pbc=("FFF", "TTT"),
            charge=False,
            spin=False,
            precision="float32",
            theory="PBE with D3 dispersion (MPtrj and Alexandria)",
            licence="Apache-2.0",
            description="Orb-d3-xs-v2: 89 elements, crystals first; its forces are not conservative, so it fails",
            packages=("orb-models", "torch"),
            notes=NOTES,
        ),
        build,
        imports=("orb_models", "torch"),
        install=INSTALL,
        settings={"precision": "float32-highest", "compile": False},
        weights=PackagedFile(
            "janus-core",
            "0.8.2",
            "janus_core-0.8.2/tests/models/orb-d3-xs-v2-20241011.ckpt",
            sha256="623f2fe8c1a3993325df101081c919ef62fdf11fa4fa9b47e21bea4cec36eb56",
            archive_sha256="7e6bd7e5c1fd0e03936f0fb19821375d9a36651b0a07c84ab372cd3beda4634d",
            source=True,
        ),
        build_batch=build_batch,
        devices=("cpu", "cuda"),
    ),
}
