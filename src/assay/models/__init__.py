"""Adapters, one file per family: named models in `MODELS`, or a scheme such as `kim:NAME` by `open_model`."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType

from assay.model import Model
from assay.models.registry import Registered


@cache
def _families() -> tuple[ModuleType, ...]:
    names = [item.name for item in pkgutil.iter_modules(__path__) if not item.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found = [module for module in modules if hasattr(module, "MODELS") or hasattr(module, "SCHEME")]
    found += [point.load() for point in importlib.metadata.entry_points(group="assay.models")]
    return tuple(found)


def registered() -> dict[str, Registered]:
    """Every model that has a name of its own."""
    return {name: entry for family in _families() for name, entry in getattr(family, "MODELS", {}).items()}


def schemes() -> dict[str, Callable[[str, str | None], Model]]:
    """Prefixes that open models by a name of their own library (`kim:NAME`) or a checkpoint file (`mace:FILE`)."""
    return {family.SCHEME: family.open_model for family in _families() if hasattr(family, "SCHEME")}


def file_schemes() -> set[str]:
    """Those prefixes that are followed by a file."""
    return {family.SCHEME for family in _families() if getattr(family, "FILE_SCHEME", False)}


def family_names() -> dict[str, list[str]]:
    """The names of the models of each adapter file, by the name of the file."""
    return {family.__name__.rpartition(".")[2]: sorted(getattr(family, "MODELS", {})) for family in _families()}
