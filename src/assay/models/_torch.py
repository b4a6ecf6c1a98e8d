"""What the PyTorch families share: devices, weights without gradients, and the way between arrays and tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from assay.errors import AssayError
from assay.structure import Floats

DEVICES = ("cpu", "cuda")
"""Where PyTorch models can run."""


def require_device(device: str) -> str:
    """The device; an `AssayError` if this computer does not have it."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise AssayError("PyTorch finds no CUDA device on this computer; leave out --device cuda")
    return device


def freeze(network: Any) -> None:
    """Switch off the gradients of all weights; only those with respect to positions are needed."""
    for parameter in network.parameters():
        parameter.requires_grad_(False)


def tensor_makers(dtype: Any, device: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Two functions that make tensors on a device: of real numbers in this precision, and of integers."""
    import torch

    return (
        partial(torch.as_tensor, dtype=dtype, device=device),
        partial(torch.as_tensor, dtype=torch.int64, device=device),
    )


def to_floats(tensor: Any) -> Floats:
    """A tensor as a numpy array in double precision."""
    values: Floats = tensor.detach().cpu().numpy().astype(float)
    return values
