"""Text for tables and lines: the one way in which names and messages of strangers enter what a terminal shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.text import printable, shortened

if TYPE_CHECKING:
    from rich.text import Text

LONGEST = 10_000
"""The most characters of a cell or a line. Reasons are shorter; what is longer comes from a damaged folder."""


def safe(text: str) -> str:
    """The text without codes that a terminal would obey, and without the middle of a very long one."""
    return printable(shortened(text, LONGEST))


def cell(text: str, style: str = "", overflow: str = "fold") -> Text:
    """The text for a table, a title or a line of rich; nothing in it is markup."""
    from rich.text import Text

    return Text(safe(text), style=style, overflow=overflow)  # type: ignore[arg-type]
