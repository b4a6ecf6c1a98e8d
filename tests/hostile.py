"""Generators of damaged and hostile files: values of any type, JSON that was changed somewhere, bytes that flipped."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SECONDS = 600.0
"""How long the long form of each fuzzer runs."""

SHORT, BATCH = 25, 200
"""Examples of the short form, and those that the long form makes between two looks at the clock."""

numbers = st.sampled_from([0, -1, 1, 3, 10**9, 10**18, -(10**30), 1e308, -1e-308, 0.5])
texts = st.sampled_from(["", "x", "ok", "\x1b[31m", "\ud800", "a" * 20_000, "../../etc", "NaN", "run1", "0"])
leaves = st.none() | st.booleans() | numbers | texts
arrays = st.builds(
    lambda kind, shape, text: {"__array__": [kind, shape, text]},
    st.sampled_from(["<f8", "<i8", "|b1", "<f4", "|O", ">f8", 3, None]),
    st.lists(st.sampled_from([0, 1, 2, 3, -1, 10**12, "x"]), max_size=4) | leaves,
    st.sampled_from(["", "AAAA", "AAAAAAAAAAA=", "AAAAAAAA8H8=", "AAAAAAAA+H8=", "!", 3, None]),
)
values = st.recursive(
    leaves | arrays,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abxyz"), inner, max_size=4),
    max_leaves=12,
)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every item of a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: object) -> Any:
    """The document with another item at one place."""
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


@st.composite
def changed_documents(draw: st.DrawFn, text: str) -> bytes:
    """A JSON document of which one to three items are others, or which is damaged as text."""
    document = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        document = put(document, draw(st.sampled_from(places(document))), draw(values))
    data = json.dumps(document).encode("utf-8", "surrogatepass")
    return draw(st.just(data) | changed_bytes(data))


@st.composite
def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes of which some are others, or missing at the end."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        if changed:
            changed[draw(st.integers(0, len(changed) - 1))] = draw(
                st.sampled_from([0, 1, 8, 34, 91, 123, 127, 128, 255])
            )
    return bytes(changed[: draw(st.just(len(changed)) | st.integers(0, len(changed)))])
