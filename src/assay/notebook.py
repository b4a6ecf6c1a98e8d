"""Progress in a notebook: one line below the cell, which is replaced while jobs run and removed at the end."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from assay.settings import Progress, silent
from assay.text import printable

INTERVAL = 0.2
"""Seconds between two updates of the line; a browser needs no more."""


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook. IPython is not imported for that."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def shown_progress(wanted: Progress, name: str) -> Iterator[Progress]:
    """Give the function that reports progress: the user's own, or else a line in a notebook, or else none."""
    if wanted is not silent:
        yield wanted
    elif in_notebook():
        with _line(name) as progress:
            yield progress
    else:
        yield silent


@contextmanager
def _line(name: str) -> Iterator[Progress]:
    from IPython.display import HTML, display

    handle: Any = display(HTML(_text(name, 0, 0, "starts")), display_id=True)
    lock, last = Lock(), [-INTERVAL]  # the thread that watches simulations calls this, too

    def update(done: int, total: int, what: str) -> None:
        with lock:
            if done < total and time.monotonic() - last[0] < INTERVAL:
                return
            last[0] = time.monotonic()
            handle.update(HTML(_text(name, done, total, what)))

    try:
        yield update
    finally:
        handle.update(HTML(""))


def _text(name: str, done: int, total: int, what: str) -> str:
    bar = f'<progress value="{done}" max="{total}"></progress> {done} of {total} force calls' if total else ""
    return f"<p>{html.escape(printable(name))}: {html.escape(what)} {bar}</p>"
