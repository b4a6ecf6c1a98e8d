"""Named models and checkpoint files: which packages and weights they need, and how they are opened."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.model import (
    BatchEvaluator,
    Model,
    ModelCard,
    ModelReference,
    claims_card,
    digest,
    file_digest,
    package_version,
)
from assay.models.install import install_hint
from assay.models.weights import PackagedFile, fetch_weights

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator


@dataclass(frozen=True)
class NamedModel:
    """A model that an adapter names: its card, the functions that build it, and the packages and weights it needs.

    Attributes:
        card: The name of the model and its claims.
        build: Makes a new ASE calculator.
        imports: Modules that must be installed.
        install: The command that installs them.
        settings: Other values that decide the results, such as a precision; they are part of the fingerprint.
        weights: A file in the archive of another package. It is downloaded, and the builders get its path.
        inside: A file or folder in the package of the family, as (module, path in it); part of the fingerprint.
        build_batch: Makes a new batch evaluator.
        devices: Where the model can run. If there are several, the builders get the parameter `device`.
    """

    card: ModelCard
    build: Callable[..., Calculator]
    imports: tuple[str, ...] = ()
    install: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    weights: PackagedFile | None = None
    inside: tuple[str, str] | None = None
    build_batch: Callable[..., BatchEvaluator] | None = None
    devices: tuple[str, ...] = ("cpu",)

    @property
    def installed(self) -> bool:
        """True when every package that the model needs is installed."""
        return all(importlib.util.find_spec(name) is not None for name in self.imports)

    def open(self, device: str | None = None) -> Model:
        """The model, with its weights downloaded; an `AssayError` names the install command if a package is missing."""
        if not self.installed:
            command = install_hint(self.install)
            raise AssayError(f"model '{self.card.name}' needs {', '.join(self.imports)}; install it: {command}")
        contents = [self.weights.sha256] if self.weights else []
        contents += [_inside_digest(*self.inside)] if self.inside else []
        parts = [self.card.name, *_versions(self.card), repr(sorted(self.settings.items())), *contents]
        arguments = (fetch_weights(self.weights),) if self.weights else ()
        reference = ModelReference(self.card.name, device=device)
        return _assembled(self.card, parts, reference, self.devices, self.build, self.build_batch, arguments)


def checkpoint_file(scheme: str, rest: str) -> Path:
    """The file that a user named as `scheme:FILE`."""
    path = Path(rest).expanduser().resolve()
    if not path.is_file():
        raise AssayError(f"there is no file '{rest}'; give the path of a checkpoint, as in {scheme}:FILE")
    return path


def checkpoint_card(scheme: str, path: Path, **claims: Any) -> ModelCard:
    """The card of a user's checkpoint; the model has the name of the file."""
    return claims_card(f"{scheme}:{path.name}", claims)


def checkpoint_model(
    card: ModelCard,
    path: Path,
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None = None,
    device: str | None = None,
    devices: tuple[str, ...] = ("cpu",),
) -> Model:
    """The model of a user's checkpoint; its fingerprint covers the content of the file and versions of packages."""
    parts = [card.name, *_versions(card), file_digest(path, card.name)]
    reference = ModelReference(f"{card.name.partition(':')[0]}:{path}", device=device)
    return _assembled(card, parts, reference, devices, build, build_batch, (path,))


def require_package(model: str, module: str, package: str, install: str) -> None:
    """Raise an `AssayError` with the install command if the package that a model needs is missing."""
    if importlib.util.find_spec(module) is None:
        raise AssayError(f"'{model}' needs the package '{package}'; install it: {install_hint(install)}")


def package_folder(module: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(module)
    folders = list(spec.submodule_search_locations or []) if spec is not None else []
    if not folders:
        raise AssayError(f"there is no installed package '{module}' that is a folder; install it again")
    return Path(folders[0])


def _assembled(
    card: ModelCard,
    parts: Sequence[str],
    reference: ModelReference,
    devices: tuple[str, ...],
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None,
    arguments: tuple[Path, ...],
) -> Model:
    """The model whose builders have their arguments filled in; `parts` and the device make its fingerprint."""
    device = reference.device
    if device is not None and device not in devices:
        raise AssayError(f"model '{card.name}' runs on {' or '.join(devices)} only; leave out --device {device}")
    options = {"device": device or "cpu"} if len(devices) > 1 else {}
    other_device = [device] if device and device != "cpu" else []
    return Model(
        card,
        digest(*parts, *other_device),
        partial(build, *arguments, **options),
        reference,
        partial(build_batch, *arguments, **options) if build_batch is not None else None,
    )


def _versions(card: ModelCard) -> list[str]:
    return [f"{package}=={package_version(package)}" for package in card.packages]


def _inside_digest(module: str, place: str) -> str:
    """The hash of a file, or of all files of a folder, in an installed package."""
    home = package_folder(module) / place
    files = sorted(path for path in home.rglob("*") if path.is_file()) if home.is_dir() else [home]
    return digest(*(part for path in files for part in (path.name, file_digest(path, module))))
