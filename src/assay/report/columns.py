"""Which columns of a table fit into a terminal, and how wide they are. No cell is cut off."""

from __future__ import annotations

from collections.abc import Sequence

WRAPPED = {"benchmark, metric": 1, "value": 15, "comment": 20}
"""Columns whose cells may take several lines, broken between words, and the fewest characters of such a line."""

LESS_NEEDED = ("tolerance", "good", "error", "cases", "grade")
"""Columns that a narrow terminal leaves out, in this order, until the table fits; the JSON has all of them."""

BORDER = 3
"""Characters between two columns."""


def column_widths(names: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> dict[str, int]:
    """The columns that fit into `width` characters, with the characters of each."""
    columns = {name: [name, *(row[place] for row in rows)] for place, name in enumerate(names)}
    full = {name: max(map(len, cells)) for name, cells in columns.items()}
    least = dict(full)
    for name in set(WRAPPED) & set(names):
        least[name] = min(max(_longest_word(columns[name]), WRAPPED[name]), full[name])
    shown = list(names)
    for name in LESS_NEEDED:
        if name in shown and _spare(shown, least, width) < 0:
            shown.remove(name)
    sizes = {name: least[name] for name in shown}
    sizes[names[0]] = max(sizes[names[0]] + min(_spare(shown, least, width), 0), 1)
    for name in shown:
        sizes[name] += max(min(_spare(shown, sizes, width), full[name] - sizes[name]), 0)
    return sizes


def _longest_word(cells: Sequence[str]) -> int:
    """The characters of the longest word; what indents a cell belongs to its first word. Very long words are broken."""
    words = [len(cell) - len(cell.lstrip()) + len(word) for cell in cells for word in cell.split()]
    return min(max(words, default=1), 40)


def _spare(shown: Sequence[str], sizes: dict[str, int], width: int) -> int:
    """Characters that are left beside these columns; negative if they do not fit."""
    return width - 1 - sum(sizes[name] + BORDER for name in shown)


FIRST_COLUMN, MODEL_COLUMN = 38, 20
"""Columns of a terminal for the names of benchmarks, and at least for each model beside them."""


def keeps_names(width: int) -> bool:
    """True if names of benchmarks fit beside a model; in a narrower terminal they are broken into two lines."""
    return width >= FIRST_COLUMN + MODEL_COLUMN


def groups_of_models(count: int, width: int) -> list[slice]:
    """Models that stand beside each other in one table; the next ones follow in a table below."""
    together = max(1, (width - FIRST_COLUMN) // MODEL_COLUMN)
    return [slice(start, start + together) for start in range(0, count, together)]
