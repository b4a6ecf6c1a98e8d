"""The docstring of a benchmark's file, taken apart: statement, why, protocol, metrics, reference, citation."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from assay.benchmark import Benchmark

_LABEL = re.compile(r"(?m)(?:^|[ \t]{2,})(Protocol|Reference|Cite):(?=\s)")
_SCORE = "Score of "


@dataclass(frozen=True)
class Item:
    """A line "- names: text" below the protocol: one or more metrics, or "Score of a molecule"."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring as Markdown; a part that is missing is empty."""

    statement: str
    why: str = ""
    protocol: str = ""
    metrics: tuple[Item, ...] = ()
    scores: tuple[Item, ...] = ()
    reference: str = ""
    cite: str = ""


def docstring_of(benchmark: type[Benchmark]) -> Docstring:
    """The parts of the docstring at the top of the benchmark's file."""
    text = sys.modules[benchmark.__module__].__doc__ or ""
    return parse(text, [metric.name for metric in benchmark.metrics])


def parse(text: str, metrics: Iterable[str]) -> Docstring:
    """Split a docstring at its labels; items of the protocol that begin with names of metrics describe these."""
    statement, _, body = text.strip().partition("\n\n")
    why, *labelled = _LABEL.split(body)
    parts = dict(zip(labelled[::2], labelled[1::2], strict=True))
    blocks = _blocks(parts.get("Protocol", ""))
    described = [item for item in map(_item, blocks) if item and set(item.names) <= set(metrics)]
    scores = [item for item in map(_item, blocks) if item and item.names[0].startswith(_SCORE)]
    taken = {item.text for item in (*described, *scores)}
    rest = [block for block in blocks if (item := _item(block)) is None or item.text not in taken]
    return Docstring(
        statement=_one_line(statement),
        why=why.strip(),
        protocol=_markdown(rest),
        metrics=tuple(described),
        scores=tuple(scores),
        reference=_one_line(parts.get("Reference", "")),
        cite=_one_line(parts.get("Cite", "")),
    )


def _blocks(protocol: str) -> list[str]:
    """Paragraphs and list items in their order, each in one line; an item keeps its dash."""
    starts = r"(?m)^(?=- )|(?<=\n)(?=[^\s-])"
    blocks: list[str] = []
    for line in filter(None, map(_one_line, re.split(starts, protocol))):
        if blocks and not line.startswith("- ") and not blocks[-1].startswith("- "):
            blocks[-1] += f" {line}"
        else:
            blocks.append(line)
    return blocks


def _item(block: str) -> Item | None:
    names, colon, text = block.removeprefix("- ").partition(": ")
    return Item(tuple(names.split(", ")), text) if colon and block.startswith("- ") else None


def _markdown(blocks: Iterable[str]) -> str:
    """Paragraphs and lists with the empty lines that Markdown needs between them."""
    lines: list[str] = []
    for block in blocks:
        is_next_item = block.startswith("- ") and lines and lines[-1].startswith("- ")
        lines += [block] if is_next_item or not lines else ["", block]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())
