"""The docstring of a benchmark's file, taken apart: statement, why, protocol, metrics, reference, citation."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from assay.benchmark import Benchmark

_LABEL = re.compile(r"(?m)(?:^|[ \t]{2,})(Protocol|Reference|Cite): ")


@dataclass(frozen=True)
class Item:
    """A line "- names: text" below the protocol: one or more metrics, or "Score of a molecule"."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring as Markdown text; a part that is missing is empty."""

    statement: str
    why: str = ""
    protocol: str = ""
    items: tuple[Item, ...] = ()
    reference: str = ""
    cite: str = ""


def docstring_of(benchmark: type[Benchmark]) -> Docstring:
    """The parts of the docstring at the top of the benchmark's file."""
    return parse(sys.modules[benchmark.__module__].__doc__ or "")


def parse(text: str) -> Docstring:
    """Split a docstring at its labels, and its protocol at the list of metrics."""
    statement, _, body = text.strip().partition("\n\n")
    why, *labelled = _LABEL.split(body)
    parts = dict(zip(labelled[::2], labelled[1::2], strict=True))
    protocol, *items = re.split(r"(?m)^- ", parts.get("Protocol", ""))
    return Docstring(
        statement=_one_line(statement),
        why=why.strip(),
        protocol=protocol.strip(),
        items=tuple(_item(item) for item in items),
        reference=_one_line(parts.get("Reference", "")),
        cite=_one_line(parts.get("Cite", "")),
    )


def _item(text: str) -> Item:
    names, _, meaning = _one_line(text).partition(": ")
    return Item(tuple(names.split(", ")), meaning)


def _one_line(text: str) -> str:
    return " ".join(text.split())
