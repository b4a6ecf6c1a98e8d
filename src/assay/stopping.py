"""A request to end this process, as from `kill` or a batch system, which no model can take for an error of its own."""

from __future__ import annotations

import signal
import threading
from typing import NoReturn


class Stopped(BaseException):
    """Somebody asked this process to end. It is no `Exception` and no `SystemExit`, which models catch or raise."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.exit_code = 128 + number


_asked: list[int] = []
"""The signals that arrived. A model may catch everything that is raised in it, but not remove an entry here."""


def stop_on_termination() -> None:
    """Make SIGTERM raise `Stopped`, so that files are closed in order and no worker stays behind.

    Ctrl-C raises `KeyboardInterrupt` as usual, and is remembered, too.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _leave)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # it may be ignored, as under nohup
            signal.signal(signal.SIGINT, _interrupt)


def stop_if_asked() -> None:
    """Raise `Stopped` if a signal has arrived, even if a model swallowed the exception of that moment."""
    if _asked:
        raise Stopped(_asked[0])


def _leave(number: int, frame: object) -> NoReturn:
    _asked.append(number)
    raise Stopped(number)


def _interrupt(number: int, frame: object) -> NoReturn:
    _asked.append(number)
    raise KeyboardInterrupt
