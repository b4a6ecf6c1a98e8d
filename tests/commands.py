"""Runs `assay` as a user does, in a process of its own, and reads what it prints."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

Done = subprocess.CompletedProcess[str]
BROKEN = Path(__file__).parent / "broken"
LONGEST = 3600.0
"""Seconds after which something that a test waits for will not come any more, however busy the machine is."""

QUICK = ("-j", "0", "-b", "inversion_symmetry")


def command(*arguments: object, where: Path, columns: int = 150) -> Done:
    """Run `assay` in a folder, as in a terminal of this number of columns, and wait for it."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, arguments)],
        cwd=where,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST,
        check=False,
    )


def heed_ctrl_c() -> None:
    """For `preexec_fn` of every process that a test interrupts: there, Ctrl-C stops it.

    Tests that a shell script starts in the background inherit that Ctrl-C is ignored, and hand this on.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def numbers(value: object) -> Iterator[float]:
    """Every number in a JSON document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, float):
        yield value


def document(text: str) -> dict:
    """The one JSON document that a text is; NaN and infinity are not JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert all(math.isfinite(x) for x in numbers(found))
    return dict(found)
