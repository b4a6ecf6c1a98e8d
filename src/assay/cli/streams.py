"""Standard output and error as they may be: closed, full, or of an encoding that has no letter Å."""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

PLAIN = {
    "±": "+-", "Å": "A", "—": "-", "–": "-", "−": "-", "…": "...", "×": "x", "·": ".", "≤": "<=", "≥": ">=",
    "²": "^2", "³": "^3", "Δ": "D", "σ": "sigma", "→": "->", "“": '"', "”": '"', "’": "'",
}  # fmt: skip
"""What is printed for our own letters where the encoding does not have them."""


def prepare_streams() -> None:
    """Make printing work wherever this process was started: a closed stream swallows, a poor encoding is spelt out."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # or the next file that is opened gets this number, and is printed into
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for the life of the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    codecs.register_error("assay", _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if not speaks_unicode(stream) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="assay")


def speaks_unicode(stream: TextIO) -> bool:
    """True if the stream can print every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def discard_stdout() -> None:
    """Let nothing more reach standard output, which cannot be written; Python would print an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    spelt = "".join(PLAIN.get(c) or c.encode("unicode_escape").decode("ascii") for c in text)
    return spelt, error.end
