"""Text of strangers: nothing in it is obeyed by a terminal, and none of it is endless."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.text import LONGEST, named, one_line, printable, shortened, words_of

SOURCE = Path(assay.__file__).parent
MAY_PRINT = {"cli/output.py", "cli/arguments.py"}
MAY_MAKE_CELLS = {"report/cells.py"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain Å ± 日本", "plain Å ± 日本"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\x00b\x7fc", r"a\x00b\x7fc"),
        ("over\rwritten", r"over\rwritten"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066hidden\u2069", r"\u2066hidden\u2069"),
        ("\u2028line", r"\u2028line"),
        ("\ud800", r"\ud800"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("1\u202f000", "1\u202f000"),
    ],
)
def test_codes_of_a_terminal_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_what_is_shown_can_be_printed_and_encoded(text: str) -> None:
    shown = printable(text)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not set(shown) & {chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2028)}
    assert one_line(text).replace("\xa0", " ").count("\n") == 0


@given(st.text(max_size=300), st.integers(min_value=20, max_value=100))
def test_long_text_keeps_its_ends_and_says_what_is_missing(text: str, most: int) -> None:
    found = shortened(text, most)
    if len(text) <= most:
        assert found == text
    else:
        assert found.startswith(text[: most // 2])
        assert found.endswith(text[-most // 4 :])
        assert f"({len(text) - most} characters left out)" in found


def test_three_megabytes_become_a_thousand_characters() -> None:
    assert len(words_of(ValueError("x" * 3_000_000))) < LONGEST + 60
    assert len(one_line("x" * 3_000_000)) < LONGEST + 60


def test_an_exception_without_words_has_its_name() -> None:
    assert (words_of(KeyError()), named(KeyError()), named(ValueError("no"))) == (
        "KeyError",
        "KeyError",
        "ValueError: no",
    )


def calls(path: Path) -> set[str]:
    """Names of the functions that a file calls."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_there_is_one_way_to_print_and_one_way_to_make_a_cell(path: Path) -> None:
    """So that no new command or table forgets to escape."""
    name, called = path.relative_to(SOURCE).as_posix(), calls(path)
    assert "print" not in called or name in MAY_PRINT
    assert "Text" not in called or name in MAY_MAKE_CELLS
