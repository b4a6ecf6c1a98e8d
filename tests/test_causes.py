"""Why something is not `ok` is data: no code decides by the words of a message, which may then be rewritten."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import assay

SOURCE = Path(assay.__file__).parent
READS_OLD_WORDS = SOURCE / "store" / "legacy.py"
MESSAGES = ("reason", "comment", "message", "gave_up", "stopped")


def decisions_by_words(tree: ast.AST) -> list[int]:
    """Lines that search or compare the text of a reason, such as `reason.startswith(...)` or `"nan" in reason`."""
    lines = []
    for node in ast.walk(tree):
        texts: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("startswith", "endswith", "find", "count", "index"):
                texts = [node.func.value]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            texts = [node.comparators[0]] if isinstance(node.left, ast.Constant) else []
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            constant = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value != ""
            texts = [node.left] if constant else []
        if any(ast.unparse(text).rpartition(".")[2].rstrip(")") in MESSAGES for text in texts):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_decision_is_made_by_words(path: Path) -> None:
    if path != READS_OLD_WORDS:
        assert decisions_by_words(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        'point.reason.startswith("returned")',
        '"nan" in str(outcome.reason)',
        'o.reason == "not run"',
        '"lost" in reason',
    ],
)
def test_such_decisions_are_found(line: str) -> None:
    assert decisions_by_words(ast.parse(line)) == [1]
