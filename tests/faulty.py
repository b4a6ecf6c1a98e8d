"""Models that crash, hang or print (`broken/machine.py`), and what their runs wrote."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

MACHINE = Path(__file__).parent / "broken" / "machine.py"
COPPER, GOLD = 29, 79


def lines(folder: Path) -> Counter[tuple[str, str]]:
    """How often each key and status was written, over all outcome files."""
    texts = [text for path in (folder / "model" / "outcomes").glob("*.jsonl") for text in path.read_text().splitlines()]
    return Counter((row["key"], row["status"]) for row in map(json.loads, texts))
