"""Data sets that come with Assay or with ASE. Their structures are read when they are needed for the first time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from assay.data import g2, s22x5
from assay.data.dataset import EMBEDDED, Card, DataSet
from assay.data.folder import CARD, read_card, read_folder
from assay.data.kinds import Kind, find_kind

SETS = Path(__file__).parent / "sets"
"""Sets that were computed for Assay, each a folder in Assay's own layout."""


@dataclass(frozen=True)
class Entry:
    """An embedded set: its card, its reader, and whether benchmarks use it by default."""

    card: Card
    read: Callable[[], DataSet]
    default: bool = True


@cache
def embedded() -> Mapping[str, Entry]:
    """All embedded sets by name."""
    entries = [Entry(s22x5.CARD, cache(s22x5.read_s22x5)), Entry(g2.CARD, cache(g2.read_g2), default=False)]
    entries += [_own(folder) for folder in sorted(SETS.glob("*")) if (folder / CARD).is_file()]
    return {entry.card.name: entry for entry in entries}


def _own(folder: Path) -> Entry:
    return Entry(read_card(folder, EMBEDDED), cache(lambda: read_folder(folder, EMBEDDED)))


def defaults(kind: str) -> list[DataSet]:
    """The embedded sets of a kind that benchmarks use when the user gives no data of that kind."""
    return of_kind(find_kind(kind), _read_defaults)


def of_kind(kind: Kind, read: Callable[[str], list[DataSet]]) -> list[DataSet]:
    """The data sets of a kind; if there are none, the records of another kind that are marked for this kind.

    Args:
        kind: the kind of data.
        read: gives the data sets that name a certain kind.
    """
    own = read(kind.name)
    if own or not kind.part_of:
        return own
    marked = [replace(d, records=tuple(r for r in d.records if kind.mark in r.info)) for d in read(kind.part_of)]
    return [data for data in marked if data.records]


def _read_defaults(kind: str) -> list[DataSet]:
    return [entry.read() for entry in embedded().values() if entry.default and entry.card.kind == kind]
