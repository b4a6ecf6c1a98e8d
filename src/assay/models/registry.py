"""Models that adapters name, and checkpoints of the same families: what they need, and how they are opened."""

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
from assay.models.weights import PackagedFile, fetch

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator


@dataclass(frozen=True)
class Registered:
    """A named model of an adapter file: its card, its builders, and the packages and weights it needs.

    `weights` lie in another package's archive and are fetched; builders get their path. `inside` is a file or folder
    of the family's own package (import name, path in it). Builders of models that can also use a GPU get `device`.
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
        """True when every package that the model needs can be imported."""
        return all(importlib.util.find_spec(name) is not None for name in self.imports)

    def open(self, device: str | None = None) -> Model:
        """The model itself, its weights at hand; an error that names the install command when a package is missing."""
        if not self.installed:
            raise AssayError(f"model '{self.card.name}' needs {', '.join(self.imports)}; install it: {self.install}")
        versions = [f"{package}=={package_version(package)}" for package in self.card.packages]
        contents = [self.weights.sha256] if self.weights else []
        contents += [_inside_digest(*self.inside)] if self.inside else []
        parts = [self.card.name, *versions, repr(sorted(self.settings.items())), *contents]
        given = (fetch(self.weights),) if self.weights else ()
        return _on_device(self.card, parts, self.build, self.build_batch, given, (device, self.devices), self.card.name)


def _on_device(
    card: ModelCard,
    parts: Sequence[str],
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None,
    given: tuple[Path, ...],
    device: tuple[str | None, tuple[str, ...]],
    spec: str,
) -> Model:
    """A model whose builders have their arguments; `device` is the one asked for and those that the model can use."""
    asked, possible = device
    if asked is not None and asked not in possible:
        raise AssayError(f"model '{card.name}' runs on {' or '.join(possible)} only; leave out --device {asked}")
    options = {"device": asked or "cpu"} if len(possible) > 1 else {}
    elsewhere = [asked] if asked and asked != "cpu" else []
    return Model(
        card,
        digest(*parts, *elsewhere),
        partial(build, *given, **options),
        ModelReference(spec, device=asked),
        partial(build_batch, *given, **options) if build_batch is not None else None,
    )


def checkpoint_file(scheme: str, rest: str) -> Path:
    """The file that a user named as `scheme:FILE`."""
    path = Path(rest).expanduser().resolve()
    if not path.is_file():
        raise AssayError(f"there is no file '{rest}'; give the path of a checkpoint, as in {scheme}:FILE")
    return path


def checkpoint_card(scheme: str, path: Path, **claims: Any) -> ModelCard:
    """The card of a user's own checkpoint, named after its file."""
    return claims_card(f"{scheme}:{path.name}", claims)


def checkpoint_model(
    card: ModelCard,
    path: Path,
    build: Callable[..., Calculator],
    build_batch: Callable[..., BatchEvaluator] | None = None,
    device: str | None = None,
    devices: tuple[str, ...] = ("cpu",),
) -> Model:
    """A model from a user's own checkpoint file; its content and the family's version make the fingerprint."""
    versions = [f"{package}=={package_version(package)}" for package in card.packages]
    parts = [card.name, *versions, file_digest(path, card.name)]
    spec = f"{card.name.partition(':')[0]}:{path}"
    return _on_device(card, parts, build, build_batch, (path,), (device, devices), spec)


def _inside_digest(package: str, place: str) -> str:
    """The hash of a file, or of all files of a folder, inside an installed package."""
    found = importlib.util.find_spec(package)
    roots = list(found.submodule_search_locations or []) if found is not None else []
    if not roots:
        raise AssayError(f"package '{package}' is not installed, or is not a folder with '{place}' in it")
    home = Path(roots[0]) / place
    files = sorted(path for path in home.rglob("*") if path.is_file()) if home.is_dir() else [home]
    return digest(*(part for path in files for part in (path.name, file_digest(path, package))))
