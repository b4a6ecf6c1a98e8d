"""The index of one file of outcomes: which job is on which line. Each line is parsed once; values stay on disk."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from assay.errors import AssayError, Cause
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.store import codec
from assay.store.legacy import with_causes
from assay.store.reading import TEXT_BYTES, Refused, open_regular
from assay.store.trajectory import Trajectory, trajectory_path

TAIL = 256
"""Bytes before the end of the last whole line that must be unchanged when a file is read on from there."""

SKIPPED_BYTES = 1_000_000_000
"""Bytes of lines that are too long to be outcomes, after which the rest of a file is passed over."""

MOST_WARNINGS = 5
"""Damaged lines of a file that are named; more are counted."""

KEY_LENGTH, REASON_LENGTH = 200, 10_000
"""Most characters of a key, and those of a reason that are kept."""

STATUSES = (OK, FAILED, UNSUPPORTED, ERROR)
HAS_FRAMES, HAS_REMARK = 4, 8
"""Bits of `OutcomeFile.kinds` beside the status: the job has a trajectory; its batches were given up."""


@dataclass(eq=False)
class OutcomeFile:
    """One file of outcomes, of which only what is new since the last reading is read and parsed.

    Other processes may append to the file, leave its last line incomplete, or replace the file by another one; for
    that one, `read` returns a new index. Rows are only added, so that what was given out stays as it was.
    """

    path: Path
    keys: list[str] = field(default_factory=list)
    finished: array[float] = field(default_factory=lambda: array("d"))
    """When each job was finished, in seconds since 1970; 0 where that is not known."""

    kinds: bytearray = field(default_factory=bytearray)
    """The number of the status in `STATUSES`, and two more bits."""

    _starts: array[int] = field(default_factory=lambda: array("q"))
    _lengths: array[int] = field(default_factory=lambda: array("q"))
    _warnings: list[str] = field(default_factory=list)
    _damaged: int = 0
    _count: int = 0
    """Whole lines so far."""

    _last: tuple[int | None, str] = (None, "")
    """The row of an incomplete last line, which is parsed again when the file has grown, or the warning about it."""

    _replaced: set[int] = field(default_factory=set)
    _end: int = 0
    """Bytes up to the end of the last whole line that was parsed."""

    _tail: bytes = b""
    _state: tuple[int, int, int] = (0, 0, 0)
    """Inode, size in bytes and time of change (ns) when the file was last read."""

    def read(self) -> OutcomeFile:
        """Read what is new; returns the index of the file as it is now, which is another one if it was replaced."""
        if _state(os.stat(self.path)) == self._state:
            return self
        with open_regular(self.path) as file:
            info = os.fstat(file.fileno())
            grown = info.st_ino == self._state[0] and info.st_size > self._state[1] and self._tail_is_in(file)
            index = self if grown or not self._state[0] else OutcomeFile(self.path)
            file.seek(index._end)
            index._add_lines(file)
            index._state = _state(info)
        return index

    def _tail_is_in(self, file: BinaryIO) -> bool:
        """True when the file has the same bytes as before where the last whole line ended."""
        file.seek(self._end - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _add_lines(self, file: BinaryIO) -> None:
        """Parse the lines that follow the last whole line."""
        if self._last[0] is not None:
            self._replaced.add(self._last[0])
        self._last, skipped = (None, ""), 0
        while line := file.readline(TEXT_BYTES + 1):
            if len(line) > TEXT_BYTES:
                length = len(line) + _skip_line(file)
                skipped += length
                self._count += 1
                self._warn(f"line {self._count} has more than {TEXT_BYTES // 1_000_000} MB and was passed over")
                self._end, self._tail = self._end + length, b""
                if skipped > SKIPPED_BYTES:
                    self._warn(f"the rest after line {self._count} was passed over")
                    return
                continue
            row, warning = self._add_line(line)
            if not line.endswith(b"\n"):
                self._last = row, warning
                return
            if warning:
                self._warn(warning)
            self._count += 1
            self._end += len(line)
            self._tail = (self._tail + line)[-TAIL:] if len(line) < TAIL else line[-TAIL:]

    def _add_line(self, line: bytes) -> tuple[int | None, str]:
        """The new row of an outcome, or why the line was passed over."""
        try:
            outcome = parse_outcome(line)
            if outcome.status not in STATUSES:
                return (
                    None,
                    f"line {self._count + 1} has the unknown status {outcome.status[:20]!r} and was passed over",
                )
            if "trajectory" in outcome.values:
                trajectory_path(self.path.parent.parent, outcome.key)
        except (ValueError, TypeError, AssayError):
            return None, f"line {self._count + 1} is torn or damaged and was passed over"
        given_up = bool(outcome.batch.get("given_up"))
        self.kinds.append(
            STATUSES.index(outcome.status) + HAS_FRAMES * ("trajectory" in outcome.values) + HAS_REMARK * given_up
        )
        self.keys.append(outcome.key)
        self.finished.append(_finished(outcome))
        self._starts.append(self._end)
        self._lengths.append(len(line))
        return len(self.keys) - 1, ""

    def _warn(self, warning: str) -> None:
        self._damaged += 1
        if self._damaged <= MOST_WARNINGS:
            self._warnings.append(warning)

    def rows(self) -> Iterator[int]:
        """The rows of all lines that count, in their order."""
        if not self._replaced:
            return iter(range(len(self.keys)))
        return (row for row in range(len(self.keys)) if row not in self._replaced)

    def load(self, row: int) -> Outcome:
        """Read the outcome of a row from disk, with its trajectory if it has one."""
        try:
            file = _opened(self.path, self._state[0])
            outcome = parse_outcome(_bytes_at(file, self._starts[row], self._lengths[row]))
        except (Refused, OSError, ValueError, TypeError) as error:
            raise _has_changed(self.path) from error
        if outcome.key != self.keys[row]:
            raise _has_changed(self.path)
        if not self.kinds[row] & HAS_FRAMES:
            return outcome
        return replace(outcome, frames=Trajectory(trajectory_path(self.path.parent.parent, outcome.key)))

    def status(self, row: int) -> str:
        """The status of a row."""
        return STATUSES[self.kinds[row] % HAS_FRAMES]

    @property
    def warnings(self) -> list[str]:
        """A sentence for each line that is damaged; of many, for the first few."""
        more = self._damaged - len(self._warnings)
        rest = [f"{more} more lines are torn or damaged and were passed over"] if more else []
        return [f"{self.path.name} {text}" for text in [*self._warnings, *rest, *filter(None, [self._last[1]])]]


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


@lru_cache(maxsize=16)
def _opened(path: Path, inode: int) -> BinaryIO:
    """A file that is read at many places; a few are kept open, and closed when they are no longer used."""
    file = open_regular(path)
    if os.fstat(file.fileno()).st_ino != inode:
        raise Refused("was replaced")
    return file


def _bytes_at(file: BinaryIO, start: int, length: int) -> bytes:
    """Some bytes of a file; where it can, without a position, which forked processes would have in common."""
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), length, start)
    file.seek(start)
    return file.read(length)


def parse_outcome(line: bytes) -> Outcome:
    """An outcome from its line, without its trajectory; a `ValueError` or `TypeError` for anything else."""
    read: dict[str, Any] = with_causes(codec.loads(line))
    outcome = Outcome(**read)
    texts = (outcome.key, outcome.status, outcome.reason, outcome.traceback, outcome.cause)
    tables = (outcome.values, outcome.provenance)
    if any(type(text) not in (str, Cause) for text in texts) or any(type(table) is not dict for table in tables):
        raise TypeError("not an outcome")
    if "frames" in read or not 0 < len(outcome.key) <= KEY_LENGTH:
        raise TypeError("not an outcome")
    if len(outcome.reason) > REASON_LENGTH:
        return replace(outcome, reason=outcome.reason[:REASON_LENGTH] + "…")
    return outcome


def _finished(outcome: Outcome) -> float:
    time = outcome.provenance.get("finished", 0.0)
    return float(time) if isinstance(time, int | float) else 0.0


def _skip_line(file: BinaryIO) -> int:
    """Pass over the rest of a line; returns its length in bytes."""
    length = 0
    while length <= SKIPPED_BYTES and (part := file.readline(1_000_000)):
        length += len(part)
        if part.endswith(b"\n"):
            break
    return length


def _has_changed(path: Path) -> AssayError:
    return AssayError(f"'{path}' has changed while it was read; run the command again")
