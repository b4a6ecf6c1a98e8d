"""Checkpoints that users bring: they are read without running code from them, unless the user trusts their author."""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.models._torch import require_device

TRUST = "ASSAY_TRUST_CHECKPOINTS"
"""With this environment variable set to 1 (or with --trust-checkpoints), checkpoints may run any code."""


def load_trusted(path: Path, device: str = "cpu") -> Any:
    """Load a checkpoint without restrictions; only for files whose hash was compared."""
    import torch

    return torch.load(path, map_location=require_device(device), weights_only=False)


def is_trusted() -> bool:
    """True when the user allows checkpoints to run code."""
    return os.environ.get(TRUST, "") == "1"


def load_checked(path: Path, allowed: tuple[str, ...], device: str = "cpu") -> Any:
    """Load a user's checkpoint without running code from it.

    Args:
        path: The file.
        allowed: Starts of module names. Only tensors, plain containers and classes of these modules are created, never
            functions. If the file contains anything else, an `AssayError` names it.
        device: Where the tensors are put.
    """
    import torch

    if is_trusted():
        return _opened(path, device, weights_only=False)
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    except Exception as error:
        raise _unreadable(path, error) from error
    classes = [_class_of(name, path, allowed) for name in names]
    with torch.serialization.safe_globals(classes):
        return _opened(path, device, weights_only=True)


def require_tables(content: Any, names: Iterable[str], path: Path, family: str) -> None:
    """Raise an `AssayError` unless a checkpoint has a table (dictionary) under each of these names."""
    if not isinstance(content, dict) or any(not isinstance(content.get(name), dict) for name in names):
        raise AssayError(f"'{path.name}' is not a {family} checkpoint; give a file that {family} saved after training")


def weights_do_not_fit(path: Path, error: Exception) -> AssayError:
    """The error for a checkpoint whose weights do not have the shapes that its settings describe."""
    reason = str(error).splitlines()[-1].strip()
    return AssayError(f"the weights in '{path.name}' do not fit its settings ({reason}); save the checkpoint again")


def cannot_open_safely(path: Path, reason: str) -> AssayError:
    """The error for a checkpoint that needs code of its own, with what to do if the user trusts it."""
    return AssayError(
        f"checkpoint '{path.name}' cannot be opened without running code from it ({reason}); "
        "if you trust its author, add --trust-checkpoints"
    )


def _opened(path: Path, device: str, weights_only: bool) -> Any:
    """The content of a checkpoint; an `AssayError` if it cannot be read."""
    import torch

    try:
        return torch.load(path, map_location=require_device(device), weights_only=weights_only)
    except AssayError:
        raise
    except pickle.UnpicklingError as error:
        raise cannot_open_safely(path, str(error).splitlines()[0]) from error
    except Exception as error:
        raise _unreadable(path, error) from error


def _class_of(name: str, path: Path, allowed: tuple[str, ...]) -> type:
    """The class that a checkpoint names; an `AssayError` if it is not a class of an allowed module."""
    module, _, attribute = name.rpartition(".")
    if not f"{module}.".startswith(allowed):
        raise cannot_open_safely(path, f"it contains '{name}'")
    try:
        item = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(item, type):
        raise cannot_open_safely(path, f"it calls the function '{name}'")
    if not f"{item.__module__}.".startswith(allowed):
        raise cannot_open_safely(path, f"it contains '{name}', which is '{item.__module__}.{item.__qualname__}'")
    return item


def _unreadable(path: Path, error: Exception) -> AssayError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return AssayError(f"'{path.name}' is not a checkpoint that can be read ({text}); give a checkpoint of this family")
