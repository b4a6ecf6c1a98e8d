"""Assay: can this interatomic potential be trusted?"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay.api import check, run
    from assay.errors import AssayError, ModelFailure
    from assay.model import Model, ModelCard
    from assay.models.loading import load_model

__all__ = ["AssayError", "Model", "ModelCard", "ModelFailure", "check", "load_model", "run"]

_HOMES = {
    "check": "assay.api",
    "run": "assay.api",
    "AssayError": "assay.errors",
    "ModelFailure": "assay.errors",
    "Model": "assay.model",
    "ModelCard": "assay.model",
    "load_model": "assay.models.loading",
}


def __getattr__(name: str) -> object:
    """Import public names when they are first used, so that `import assay` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
