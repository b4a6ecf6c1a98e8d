"""JSON with exact arrays: arrays are stored as base64; NaN and infinity are never written as text.

What is read may come from anywhere, so nesting, numbers and the count of items are bounded.
"""

from __future__ import annotations

import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from assay.jobs import Data
from assay.store.reading import TEXT_BYTES

_KEY = "__array__"
_KINDS = {"<f8", "<i8", "|b1", "<f4"}

DEPTH = 60
"""Most levels of lists and tables in each other."""

ITEMS = 1_000_000
"""Most items of lists and tables: a text of commas and brackets takes up to thirty times its size in memory."""

WIDE_BYTES = 8_000_000
"""Most bytes of a text with characters beyond ASCII, each of which may take four bytes in memory."""

DIGITS = 40
"""Most digits of a whole number: the states of random numbers have 128 bits."""

LONGEST_AXIS = 10_000_000
"""Most numbers along one axis of an array."""


def dumps(value: object) -> str:
    """One line of strict JSON; arrays are exact, and NaN or infinity outside an array becomes null."""
    return json.dumps(_encode(value), allow_nan=False, separators=(",", ":"))


def loads(text: str | bytes) -> Any:
    """The inverse of `dumps`; a `ValueError` for anything that Assay does not write.

    That is: arrays of other types, NaN and infinity, numbers out of range, deep nesting, and too many items.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if reason := too_large(data):
        raise ValueError(reason)
    try:
        value = _DECODER.decode(data.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if data.count(b"[") + data.count(b"{") > DEPTH:
        _require_depth(value)
    return value


def too_large(text: bytes) -> str:
    """Why a text would not be read again; empty if it would."""
    if len(text) > TEXT_BYTES:
        return f"more than {TEXT_BYTES // 1_000_000} MB"
    if len(text) > WIDE_BYTES and (b"\\u" in text or not text.isascii()):
        return f"more than {WIDE_BYTES // 1_000_000} MB of text that is not ASCII"
    if sum(map(text.count, (b"[", b"{", b","))) > ITEMS:
        return f"more than {ITEMS} items"
    return ""


def _require_depth(value: object) -> None:
    level = [value]
    for _ in range(DEPTH + 1):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for items in inner for item in items if isinstance(item, dict | list)]
        if not level:
            return
    raise ValueError(f"nested in more than {DEPTH} levels")


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
        text = binascii.b2a_base64(array.tobytes(), newline=False).decode("ascii")
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
        if not all(type(length) is int and 0 <= length <= LONGEST_AXIS for length in shape):
            raise ValueError(f"array of the shape {shape!r}")
        return np.frombuffer(binascii.a2b_base64(text, strict_mode=True), dtype=kind).reshape(shape)
    except TypeError as error:
        raise ValueError(f"not an array: {error}") from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is out of range")
    return number


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError("a number that is out of range")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_hook=_decode, parse_float=_finite, parse_int=_whole, parse_constant=_no_constant)
