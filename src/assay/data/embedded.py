"""Data sets that come with Assay or with ASE. Their cards cost nothing; their structures are read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from assay.data import g2, s22x5
from assay.data.dataset import EMBEDDED, MARKS, Card, DataSet
from assay.data.folder import CARD, read_card, read_folder

SETS = Path(__file__).parent / "sets"
"""Sets that the project computed itself, each a folder in Assay's own layout."""


@dataclass(frozen=True)
class Entry:
    """A card, how to read the records, and whether a benchmark takes the set when the user names none."""

    card: Card
    read: Callable[[], DataSet]
    default: bool = True


@cache
def embedded() -> Mapping[str, Entry]:
    """Every embedded set by name."""
    entries = [Entry(s22x5.CARD, cache(s22x5.read_s22x5)), Entry(g2.CARD, cache(g2.read_g2), default=False)]
    entries += [_own(folder) for folder in sorted(SETS.glob("*")) if (folder / CARD).is_file()]
    return {entry.card.name: entry for entry in entries}


def _own(folder: Path) -> Entry:
    return Entry(read_card(folder, EMBEDDED), cache(lambda: read_folder(folder, EMBEDDED)))


def defaults(kind: str) -> list[DataSet]:
    """The embedded sets of a kind that a benchmark takes when the user gives none."""
    if kind in MARKS:
        return marked(kind, defaults("reference_geometry"))
    return [entry.read() for entry in embedded().values() if entry.default and entry.card.kind == kind]


def marked(kind: str, sets: Sequence[DataSet]) -> list[DataSet]:
    """Of sets of reference geometries, the records with a mark that makes them records of another kind."""
    chosen = [replace(data, records=tuple(r for r in data.records if MARKS[kind] in r.info)) for data in sets]
    return [data for data in chosen if data.records]
