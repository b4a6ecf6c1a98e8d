"""Text of strangers, such as the message of a model or the answer of a server, made safe for people to read.

A message may contain anything: codes that colour or clear a terminal, marks that reverse the direction of writing, or
millions of characters. What is shown is escaped here, where it enters a terminal or a file for other programs; what is
kept is shortened where an exception becomes a reason.
"""

from __future__ import annotations

import unicodedata

LONGEST = 1000
"""The most characters that are kept of a message, and shown of a stored one."""

LONGEST_TRACE = 20_000
"""The most characters that are kept of a traceback."""


def printable(text: str) -> str:
    r"""The text with an escape such as `\x1b` for each character that is not printed; new lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or unicodedata.category(c) == "Zs" else _escape(c) for c in text)


def one_line(text: str) -> str:
    """The text in one line that can be printed, without the middle of a very long one."""
    return printable(" ".join(shortened(text).split()))


def shortened(text: str, most: int = LONGEST) -> str:
    """The text without its middle if it has more than `most` characters; the length of what is missing is said."""
    if len(text) <= most:
        return text
    head = (2 * most) // 3
    return f"{text[:head]} … ({len(text) - most} characters left out) … {text[len(text) - (most - head) :]}"


def words_of(error: BaseException) -> str:
    """The message of an exception, or the name of its class if it has none or cannot be turned into text."""
    try:
        text = str(error).strip()
    except Exception:
        text = ""
    return shortened(text) or type(error).__name__


def named(error: BaseException) -> str:
    """The class of an exception and its message, as in the last line of a traceback."""
    name, words = type(error).__name__, words_of(error)
    return name if words == name else f"{name}: {words}"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
