"""The cases of a benchmark as they are stored, with the types that everything after the store relies on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from assay.benchmark import Case
from assay.store.legacy import case_row

ENDS = ("unsupported", "failure", "lost", "cause")
"""Fields of a case that was decided before anything was run."""

TEXT_LENGTH = 10_000
"""Most characters of the name of a case, of a key, of a reason and of a text in the context."""


class Stamp(NamedTuple):
    """What cases were made for: the version of the benchmark and the fingerprint of the model."""

    version: int
    fingerprint: str


def read_cases(data: Mapping[str, Any]) -> tuple[Stamp, list[tuple[Case, dict[str, str]]]]:
    """The stamp and the cases, with the keys of their jobs; `ValueError`, `TypeError` or `KeyError` if damaged."""
    rows = data["cases"]
    if not isinstance(rows, list) or type(data["version"]) is not int or not isinstance(data["fingerprint"], str):
        raise TypeError("not a table of cases")
    return Stamp(data["version"], data["fingerprint"]), [_case(row) for row in rows]


def _case(stored: object) -> tuple[Case, dict[str, str]]:
    if not isinstance(stored, dict):
        raise TypeError("a case that is not a table")
    row = case_row(stored)
    keys, context = row["keys"], row["context"]
    if not isinstance(keys, dict) or not isinstance(context, dict):
        raise TypeError("a case without keys or context")
    for text in (row["id"], *keys.values(), *(row[name] for name in ENDS)):
        if not isinstance(text, str) or len(text) > TEXT_LENGTH:
            raise TypeError("a case with a name, key or reason that is not text")
    if any(isinstance(value, str) and len(value) > TEXT_LENGTH for value in context.values()):
        raise ValueError("a case with a text that is too long")
    return Case(row["id"], {}, context, **{name: row[name] for name in ENDS}), keys


def settings_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with which a benchmark made its cases; lists are tuples, as in the benchmark."""
    kept = data.get("settings")
    items = kept.items() if isinstance(kept, dict) else ()
    return {name: tuple(value) if isinstance(value, list) else value for name, value in items}
