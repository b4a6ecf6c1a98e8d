"""What the commands print: JSON, tables and warnings. Standard output belongs to them, not to the models."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.cli.streams import speaks_unicode
from assay.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console


def print_json(document: object) -> None:
    """Print one JSON document on standard output.

    Characters that a terminal would obey are written as JSON's own escapes, so that programs read the same text.
    """
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=not speaks_unicode(sys.stdout))
    print("\n".join(map(_escaped, text.split("\n"))))


def _escaped(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def print_text(text: object) -> None:
    """Print text on standard output; what a terminal would obey is escaped."""
    print(printable(str(text)))


def print_to_stderr(lines: Iterable[str]) -> None:
    """Print warnings and remarks on standard error, one line each."""
    for line in lines:
        print(f"assay: {one_line(line)}", file=sys.stderr)


def open_console() -> Console:
    """Open a console for tables on standard output; a file or pipe is as wide as COLUMNS says, or 150 characters."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else chosen_width() or 150)


def chosen_width() -> int | None:
    """The width that the user chose with the environment variable COLUMNS."""
    text = os.environ.get("COLUMNS", "")
    return int(text) if text.isdecimal() and len(text) < 9 and int(text) > 0 else None


@contextmanager
def models_print_to_stderr() -> Iterator[None]:
    """Send everything that a model prints while it is imported or run to standard error."""
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(ours, 1)
        os.close(ours)
