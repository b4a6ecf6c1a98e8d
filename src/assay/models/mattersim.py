"""MatterSim: universal potentials for wide ranges of temperature and pressure, and checkpoints by `mattersim:FILE`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.model import Model, ModelCard
from assay.models._checkpoints import load_checked, require_tables, weights_do_not_fit
from assay.models._claims import ELEMENTS_89, MATERIALS_PROJECT_THEORY
from assay.models._mattersim_batch import PERIODICITY, MatterSimBatch
from assay.models._torch import DEVICES, require_device
from assay.models.registry import NamedModel, checkpoint_card, checkpoint_file, checkpoint_model, require_package
from assay.models.weights import PackagedFile

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "mattersim"
FILE_SCHEME = True
PACKAGES = ("mattersim", "torch")
INSTALL = "pip install 'mlip-assay[mattersim]' && pip install --no-deps mattersim==1.2.3"
NOTES = (
    "Structures that are periodic in one or two directions are not claimed: mattersim 1.2 moves atoms into the cell "
    "along the other directions too, which cuts a slab into two parts if it crosses a face of the cell.",
)


def build(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a checkpoint; only tensors and plain containers are read from the file."""
    with warnings.catch_warnings():  # the import changes which warnings are shown
        from mattersim.forcefield.potential import MatterSimCalculator, Potential
    _switch_off_messages()
    potential = Potential(_network(path, device), device=device)
    return MatterSimCalculator(potential=potential, device=device)


def build_batch(path: Path, device: str = "cpu") -> MatterSimBatch:
    """The batch evaluator of a checkpoint."""
    return MatterSimBatch(build(path, device))


def _switch_off_messages() -> None:
    """No messages about what MatterSim loads, and about the box that it puts around each molecule."""
    from loguru import logger

    logger.disable("mattersim")
    warnings.filterwarnings("ignore", message="No PBC detected")


def _network(path: Path, device: str) -> Any:
    from mattersim.forcefield.m3gnet.m3gnet import M3Gnet

    content = _content(path, require_device(device))
    network = M3Gnet(device=device, **content["model_args"]).to(device)
    constant = {name: values for name, values in network.state_dict().items() if name == "sbf.coef"}
    try:
        network.load_state_dict({**constant, **content["model"]})  # older files lack this table, which never changes
    except RuntimeError as error:
        raise weights_do_not_fit(path, error) from error
    return network.eval()


def _content(path: Path, device: str) -> dict[str, Any]:
    """Settings and weights of a checkpoint."""
    content = load_checked(path, (), device)
    require_tables(content, ("model", "model_args"), path, "MatterSim")
    return dict(content)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `mattersim:FILE`."""
    require_package(f"{SCHEME}:{rest}", "mattersim", "mattersim", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    content = _content(path, "cpu")
    card = checkpoint_card(
        SCHEME,
        path,
        elements=_fitted_elements(content["model"]),
        pbc=PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        description="MatterSim checkpoint of the user",
        packages=PACKAGES,
        notes=NOTES,
    )
    return checkpoint_model(card, path, build, build_batch, device, DEVICES)


def _fitted_elements(weights: dict[str, Any]) -> list[int] | None:
    """Elements with a fitted atomic energy; it is zero for elements without training data."""
    energies = weights.get("normalizer.shift")
    return None if energies is None else [z for z in range(1, len(energies)) if abs(float(energies[z])) > 1e-6]


def _named(size: str, parameters: str, sha256: str) -> NamedModel:
    card = ModelCard(
        f"mattersim-{size.lower()}",
        elements=ELEMENTS_89,
        pbc=PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        theory=f"{MATERIALS_PROJECT_THEORY}; 0 to 5000 K and 0 to 1000 GPa",
        licence="MIT (weights and mattersim)",
        description=f"MatterSim-v1.0.0 {size}: {parameters} parameters; 89 elements, also far from equilibrium",
        packages=PACKAGES,
        notes=NOTES,
    )
    weights = PackagedFile(
        "mattersim",
        "1.0.0rc8",
        f"mattersim/pretrained_models/mattersim-v1.0.0-{size}.pth",
        sha256=sha256,
        archive_sha256="b3efabcf8b8c7dca62af68e8803077cbec420db44161a7fff463a2382c5c4df6",
        python="3.9",
        platform="manylinux2014_x86_64",
    )
    return NamedModel(
        card,
        build,
        imports=("mattersim",),
        install=INSTALL,
        weights=weights,
        build_batch=build_batch,
        devices=DEVICES,
    )


MODELS = {
    "mattersim-1m": _named("1M", "0.9 million", "28b0b0b0f13efefee06b47ea4c9105a26bd3e2c8396da193430da96b3b49a8be"),
    "mattersim-5m": _named("5M", "4.5 million", "e3df9fa708725e3d453140646c7d1838324b347a3d1214cf1440522146f872b5"),
}
