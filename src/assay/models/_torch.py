"""What the PyTorch families share: the device, and loading of checkpoints that a stranger may have made."""

from __future__ import annotations

import importlib
import os
import pickle
from pathlib import Path
from typing import Any

from assay.errors import AssayError

TRUST = "ASSAY_TRUST_CHECKPOINTS"
"""Set to 1 (or give --trust-checkpoints) to unpickle checkpoints whatever they contain: they may then run any code."""


def require_device(device: str) -> str:
    """The device, if this machine has it."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise AssayError("PyTorch finds no CUDA device on this machine; leave out --device cuda")
    return device


def load_trusted(path: Path, device: str = "cpu") -> Any:
    """Unpickle a checkpoint whose content is known, because its hash was checked."""
    import torch

    return torch.load(path, map_location=require_device(device), weights_only=False)


def is_trusted() -> bool:
    """True when the user has said that checkpoints may be unpickled."""
    return os.environ.get(TRUST, "") == "1"


def load_checked(path: Path, allowed: tuple[str, ...], device: str = "cpu") -> Any:
    """Load a user's checkpoint without running code from it.

    Only tensors, plain containers and classes (never functions) of modules that start with one of `allowed` are
    created; anything else is refused with a sentence that names it.
    """
    import torch

    if is_trusted():
        return _opened(path, device, weights_only=False)
    try:
        wanted = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    except Exception as error:
        raise _unreadable(path, error) from error
    classes = [_class_of(name, path, allowed) for name in wanted]
    with torch.serialization.safe_globals(classes):
        return _opened(path, device, weights_only=True)


def _opened(path: Path, device: str, weights_only: bool) -> Any:
    import torch

    try:
        return torch.load(path, map_location=require_device(device), weights_only=weights_only)
    except AssayError:
        raise
    except pickle.UnpicklingError as error:
        raise _not_trusted(path, str(error).splitlines()[0]) from error
    except Exception as error:
        raise _unreadable(path, error) from error


def _class_of(name: str, path: Path, allowed: tuple[str, ...]) -> type:
    """The class that a checkpoint names, if it is one of an allowed module."""
    module, _, attribute = name.rpartition(".")
    if not f"{module}.".startswith(allowed):
        raise _not_trusted(path, f"it contains '{name}'")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise _unreadable(path, error) from error
    if not isinstance(found, type):
        raise _not_trusted(path, f"it calls the function '{name}'")
    if not f"{found.__module__}.".startswith(allowed):
        raise _not_trusted(path, f"it contains '{name}', which is '{found.__module__}.{found.__qualname__}'")
    return found


def _not_trusted(path: Path, why: str) -> AssayError:
    return AssayError(
        f"checkpoint '{path.name}' cannot be opened without running code from it ({why}); "
        "if you trust whoever made it, add --trust-checkpoints"
    )


def _unreadable(path: Path, error: Exception) -> AssayError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return AssayError(f"'{path.name}' is not a checkpoint that can be read ({text}); give a file of this family")
