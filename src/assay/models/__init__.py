"""Adapters: one file for each family of models.

An adapter names models in `MODELS`, or opens models by a prefix such as `kim:NAME` (`SCHEME` and `open_model`), or does
both. It imports the packages of its family only when a model is built, so that a list of all models is fast.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType

from assay.model import Model
from assay.models.registry import NamedModel


@cache
def _families() -> tuple[ModuleType, ...]:
    """The adapters of this package, and those of other packages through entry points of the group `assay.models`."""
    names = [item.name for item in pkgutil.iter_modules(__path__) if not item.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    adapters = [module for module in modules if hasattr(module, "MODELS") or hasattr(module, "SCHEME")]
    return (*adapters, *(point.load() for point in importlib.metadata.entry_points(group="assay.models")))


def named_models() -> dict[str, NamedModel]:
    """Every model that an adapter names in `MODELS`, by its name."""
    return {name: entry for family in _families() for name, entry in getattr(family, "MODELS", {}).items()}


def schemes() -> dict[str, Callable[[str, str | None], Model]]:
    """The prefixes of model names, such as `kim` in `kim:NAME` or `mace` in `mace:FILE`, with what opens the model."""
    return {family.SCHEME: family.open_model for family in _families() if hasattr(family, "SCHEME")}


def file_schemes() -> set[str]:
    """The prefixes that are followed by the path of a file, such as `mace` in `mace:FILE`."""
    return {family.SCHEME for family in _families() if getattr(family, "FILE_SCHEME", False)}


def family_names() -> dict[str, list[str]]:
    """The names of the models of each adapter, by the name of the adapter's file."""
    return {family.__name__.rpartition(".")[2]: sorted(getattr(family, "MODELS", {})) for family in _families()}
