"""JSON with exact arrays: arrays are stored as base64; NaN and infinity are never written as text."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.jobs import Data

_KEY = "__array__"
_KINDS = {"<f8", "<i8", "|b1", "<f4"}


def dumps(value: object) -> str:
    """One line of strict JSON; arrays are exact, and NaN or infinity outside an array becomes null."""
    return json.dumps(_encode(value), allow_nan=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """The inverse of `dumps`; only array types that Assay writes are accepted."""
    return json.loads(text, object_hook=_decode)


def plain(value: object) -> object:
    """The value as ordinary JSON data for users and other programs: arrays are lists, NaN and infinity are null."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value


def plain_table(table: Data) -> dict[str, Any]:
    """`plain` for a table."""
    return {str(key): plain(item) for key, item in table.items()}


def _encode(value: object) -> object:
    if isinstance(value, np.ndarray):
        kind = value.dtype.newbyteorder("<").str if value.dtype.kind != "b" else "|b1"
        array = np.array(value, dtype=kind if kind in _KINDS else "<f8", order="C")
        text = base64.b64encode(array.tobytes()).decode("ascii")
        return {_KEY: [array.dtype.str, list(array.shape), text]}
    if isinstance(value, np.generic):
        return _encode(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value


def _decode(item: dict[str, Any]) -> Any:
    if _KEY not in item or len(item) != 1:
        return item
    try:
        kind, shape, text = item[_KEY]
        if kind not in _KINDS:
            raise ValueError(f"array of unknown type {kind!r}")
        return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind).reshape([int(n) for n in shape])
    except TypeError as error:
        raise ValueError(f"not an array: {error}") from error
