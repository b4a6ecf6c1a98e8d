"""Adapters, one file per family: named models in `MODELS`, or a scheme such as `kim:NAME` by `open_model`."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable
from functools import cache
from types import ModuleType

from assay.model import Model, Registered


@cache
def _families() -> tuple[ModuleType, ...]:
    found = [importlib.import_module(f"{__name__}.{item.name}") for item in pkgutil.iter_modules(__path__)]
    found += [point.load() for point in importlib.metadata.entry_points(group="assay.models")]
    return tuple(found)


def registered() -> dict[str, Registered]:
    """Every model that has a name of its own."""
    return {name: entry for family in _families() for name, entry in getattr(family, "MODELS", {}).items()}


def schemes() -> dict[str, Callable[[str], Model]]:
    """Prefixes that open models by a name of their own library, such as `kim:NAME`."""
    return {family.SCHEME: family.open_model for family in _families() if hasattr(family, "SCHEME")}
