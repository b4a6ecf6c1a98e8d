"""CHGNet: universal potentials that were also trained on magnetic moments, with weights in the package `chgnet`."""

from __future__ import annotations

import warnings
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.model import Model, ModelCard
from assay.models._checkpoints import load_checked, require_tables, weights_do_not_fit
from assay.models._chgnet_batch import ChgnetBatch
from assay.models._claims import ANY_PERIODICITY, ELEMENTS_89, MATERIALS_PROJECT_THEORY
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

SCHEME = "chgnet"
FILE_SCHEME = True
PACKAGES = ("chgnet", "torch", "pymatgen")
INSTALL = "pip install 'mlip-assay[chgnet]'"
NOTES = (
    "CHGNet needs three cell vectors. Assay adds missing ones along directions that are not periodic, so that "
    "molecules can be computed without a box. Energies and forces do not depend on them; a stress is then not given.",
)


def build(file: str, device: str = "cpu") -> Calculator:
    """The ASE calculator of a model that comes with `chgnet`; `file` is its path in the package."""
    return build_file(package_folder("chgnet") / file, device)


def build_batch(file: str, device: str = "cpu") -> ChgnetBatch:
    """The batch evaluator of a model that comes with `chgnet`."""
    return ChgnetBatch(build(file, device))


def build_file(path: Path, device: str = "cpu") -> Calculator:
    """The ASE calculator of a checkpoint; only tensors and plain containers are read from the file."""
    warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad=True")
    with redirect_stdout(StringIO()):  # CHGNet prints its version
        from ase.calculators.calculator import all_changes
        from chgnet.model.dynamics import CHGNetCalculator

        class WithCell(CHGNetCalculator):
            def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
                if atoms.cell.rank == 3:
                    return super().calculate(atoms, properties, system_changes)
                completed = atoms.copy()
                completed.cell = atoms.cell.complete()
                super().calculate(completed, properties, system_changes)
                self.atoms = atoms.copy()  # ASE compares the next structure with it
                del self.results["stress"]  # it is per volume of a cell that the structure does not have

        return WithCell(model=_network(path, require_device(device)), use_device=device, on_isolated_atoms="ignore")


def build_file_batch(path: Path, device: str = "cpu") -> ChgnetBatch:
    """The batch evaluator of a user's checkpoint."""
    return ChgnetBatch(build_file(path, device))


def _network(path: Path, device: str) -> Any:
    from chgnet.model.model import CHGNet

    content = _content(path)
    # Files do not say whether the output layers add a constant, as in CHGNet 0.2.0, but they hold it if there is one.
    constants = any(".mlp_out." in name and name.endswith(".bias") for name in content["state_dict"])
    try:
        settings = {**content["model_args"], "mlp_out_bias": constants}
        return CHGNet.from_dict({**content, "model_args": settings}).to(device)
    except (RuntimeError, TypeError) as error:
        raise weights_do_not_fit(path, error) from error


def _content(path: Path) -> dict[str, Any]:
    """Settings and weights of a checkpoint."""
    content = load_checked(path, ())
    inner: Any = content.get("model") if isinstance(content, dict) else None
    require_tables(inner, ("model_args", "state_dict"), path, "CHGNet")
    return dict(inner)


def open_model(rest: str, device: str | None = None) -> Model:
    """A user's checkpoint, `chgnet:FILE`."""
    require_package(f"{SCHEME}:{rest}", "chgnet", "chgnet", INSTALL)
    path = checkpoint_file(SCHEME, rest)
    _content(path)
    card = checkpoint_card(
        SCHEME,
        path,
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision="float32",
        description="CHGNet checkpoint of the user",
        packages=PACKAGES,
        notes=(*NOTES, "A CHGNet checkpoint does not say on which elements it was trained."),
    )
    return checkpoint_model(card, path, build_file, build_file_batch, device, DEVICES)


def _named(version: str, file: str, elements: tuple[int, ...], theory: str, description: str) -> NamedModel:
    card = ModelCard(
        f"chgnet-{version}",
        elements=elements,
        pbc=ANY_PERIODICITY,
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
    return NamedModel(
        card,
        partial(build, place),
        imports=("chgnet",),
        install=INSTALL,
        inside=("chgnet", place),
        build_batch=partial(build_batch, place),
        devices=DEVICES,
    )


_PBE = (ELEMENTS_89, MATERIALS_PROJECT_THEORY)
# There is no ytterbium in the r2SCAN data: the fitted energy of this element is zero.
_R2SCAN = (tuple(z for z in ELEMENTS_89 if z != 70), "r2SCAN, as in the Materials Project")
_ALL = (
    ("0.3.0", "chgnet_0.3.0_e29f68s314m37.pth.tar", *_PBE, "CHGNet 0.3.0: universal, 89 elements"),
    ("0.2.0", "chgnet_0.2.0_e30f77s348m32.pth.tar", *_PBE, "CHGNet 0.2.0: the first release, 89 elements"),
    (
        "r2scan",
        "chgnet_r2scan_transfer_learning_e15f36s161m23.pth.tar",
        *_R2SCAN,
        "CHGNet 0.3.0 with more training on r2SCAN data, 88 elements",
    ),
)
MODELS = {f"chgnet-{row[0]}": _named(*row) for row in _ALL}
