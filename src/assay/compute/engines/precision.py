"""The precision and the device that a calculator really uses, read from the calculator itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


def precision_and_device(calculator: object) -> dict[str, str]:
    """Precision and device of a calculator.

    They are read from the attribute `as_used` that an adapter may set, else from the parameters of a torch network,
    else from the forces. A calculator made of others, such as a sum of a network and a dispersion correction, is as
    precise as the least precise of them.
    """
    parts = [_own(part) for part in (calculator, *_inner_calculators(calculator))]
    single = [part for part in parts if part["precision"] not in ("float64", "")]
    return (single or parts)[0]


def _own(calculator: object) -> dict[str, str]:
    stated = getattr(calculator, "as_used", None)
    if isinstance(stated, Mapping):
        return {"precision": "", **{str(key): str(value) for key, value in stated.items()}}
    for network in _networks(calculator):
        dtype, device = getattr(network, "dtype", None), getattr(network, "device", None)
        if dtype is not None and device is not None:
            return {"precision": str(dtype).removeprefix("torch."), "device": str(getattr(device, "type", device))}
    results = getattr(calculator, "results", None)
    forces = results.get("forces") if isinstance(results, Mapping) else None
    return {"precision": str(np.asarray(forces).dtype) if forces is not None else "", "device": "cpu"}


def _inner_calculators(holder: object, depth: int = 3) -> Iterator[object]:
    """Calculators that a calculator holds: as an attribute, in a list of one, or in a mixer of ASE."""
    for value in list(getattr(holder, "__dict__", {}).values()) if depth else []:
        for item in value if isinstance(value, list | tuple) else [value]:
            if hasattr(item, "get_potential_energy") and hasattr(item, "results"):
                yield item
                yield from _inner_calculators(item, depth - 1)
            elif isinstance(getattr(item, "calcs", None), list | tuple):
                yield from _inner_calculators(item, depth - 1)


def _networks(holder: object, depth: int = 2) -> Iterator[object]:
    """The first floating-point parameter of each torch module that is an attribute of the object or in a list of it."""
    for value in list(getattr(holder, "__dict__", {}).values()):
        for item in value if isinstance(value, list | tuple) else [value]:
            yield from _parameters(item)
            if depth > 1 and type(item).__module__.partition(".")[0] not in {"ase", "numpy", "builtins"}:
                yield from _networks(item, depth - 1)


def _parameters(item: object) -> Iterator[object]:
    parameters = getattr(item, "parameters", None)
    if not callable(parameters):
        return
    try:
        yield next(p for p in parameters() if getattr(p, "is_floating_point", lambda: False)())
    except (StopIteration, TypeError, AttributeError):
        return
