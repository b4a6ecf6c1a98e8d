"""Networks in MACE files, rebuilt from their settings and weights so that no code of the file is run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.models._checkpoints import cannot_open_safely, is_trusted, load_checked

ALLOWED = ("mace.modules.", "e3nn.o3.", "e3nn.nn.", "e3nn.math.", "torch.nn.modules.")
"""Modules whose classes a user's checkpoint may contain."""


def import_mace() -> Any:
    """The package, without the messages that it and its dependencies print."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        import mace.calculators
    return mace


def precision_of(network: Any) -> str:
    """The precision of the weights, such as "float64"."""
    return str(next(network.parameters()).dtype).removeprefix("torch.")


@contextmanager
def default_precision(precision: str = "") -> Iterator[None]:
    """Use a default precision of torch for a while; restore the old one even if MACE has changed it and failed."""
    import torch

    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(getattr(torch, precision) if precision else before)
        yield
    finally:
        torch.set_default_dtype(before)


def read_network(path: Path, device: str) -> Any:
    """The network in a user's checkpoint, rebuilt from its settings and weights.

    The file is read once in a process; each call gives a copy, which takes a tenth of the time.
    """
    info = path.stat()
    return deepcopy(_read_network(path, device, is_trusted(), info.st_mtime_ns, info.st_size))


@lru_cache(maxsize=1)
def _read_network(path: Path, device: str, trusted: bool, *_state: int) -> Any:
    """The network in a file that is in this state (time of change and size)."""
    import_mace()
    if trusted:
        return _require_mace(load_checked(path, ALLOWED, device), path)
    with _without_code():
        stored = _require_mace(load_checked(path, ALLOWED, device), path)
    from mace.tools.scripts_utils import extract_config_mace_model

    try:
        with warnings.catch_warnings(), default_precision(precision_of(stored)):
            warnings.simplefilter("ignore")
            network = type(stored)(**extract_config_mace_model(stored)).to(device)
        differences = network.load_state_dict(stored.state_dict(), strict=False)
    except Exception as error:
        raise _not_rebuilt(path, str(error).splitlines()[0]) from error
    # Files of older versions lack the entries "_zeroed", which follow from the coefficients.
    missing = [name for name in differences.missing_keys if not name.endswith("_zeroed")]
    if missing or differences.unexpected_keys:
        raise _not_rebuilt(path, f"'{[*missing, *differences.unexpected_keys][0]}' does not fit")
    return network


def _require_mace(network: Any, path: Path) -> Any:
    kind = type(network).__name__
    if kind not in ("MACE", "ScaleShiftMACE"):
        raise AssayError(f"'{path.name}' holds a {kind}, not a MACE model with energies; give the .model file itself")
    return network


def _not_rebuilt(path: Path, reason: str) -> AssayError:
    return cannot_open_safely(path, f"it cannot be rebuilt from its settings: {reason}")


@contextmanager
def _without_code() -> Iterator[None]:
    """While a checkpoint is read, put an empty module wherever it holds Python source or compiled code."""
    import torch
    from e3nn.util.codegen import CodeGenMixin

    class Empty(torch.nn.Module):
        def __init__(self, *_: object) -> None:
            super().__init__()

    def without_code(self: Any, state: dict[str, Any]) -> None:
        torch.nn.Module.__setstate__(self, {name: value for name, value in state.items() if name != "__codegen__"})

    code = ("torch.fx.graph_module.reduce_graph_module", "torch.fx._symbolic_trace.Tracer")
    replacements = [*((Empty, name) for name in code), (torch.nn.functional.silu, "torch.nn.functional.silu")]
    original = CodeGenMixin.__setstate__
    CodeGenMixin.__setstate__ = without_code
    try:
        with torch.serialization.safe_globals(replacements):
            yield
    finally:
        CodeGenMixin.__setstate__ = original
