"""Reads one file of outcomes piece by piece: whole lines that were parsed once are not parsed again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from assay.errors import AssayError
from assay.outcome import Outcome
from assay.store import codec
from assay.store.legacy import with_causes
from assay.store.trajectory import Trajectory, trajectory_path

TAIL = 256
"""Bytes before the end of the last whole line that must be unchanged when a file is read on from there."""


@dataclass
class Lines:
    """What was found in some lines of a file: the newest outcome of each job, and warnings about damaged lines."""

    outcomes: dict[str, tuple[float, Outcome]] = field(default_factory=dict)
    """Outcomes with the times at which they were finished (s), by the keys of their jobs."""

    warnings: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, path: Path, text: bytes) -> None:
        """Parse more lines of a file."""
        for line in text.splitlines():
            self.count += 1
            try:
                outcome = _parse(line, path.parent.parent)
            except (ValueError, TypeError, AssayError):
                self.warnings.append(f"{path.name} line {self.count} is torn or damaged and was passed over")
            else:
                add_newest(self.outcomes, outcome.key, _finished(outcome), outcome)


@dataclass
class OutcomeFile:
    """One file of outcomes, of which only what is new since the last reading is read and parsed.

    Other processes may append to the file, leave its last line incomplete, or replace the file by another one.
    """

    path: Path
    whole: Lines = field(default_factory=Lines)
    """What the whole lines say that were read so far."""

    last: Lines = field(default_factory=Lines)
    """What an incomplete last line says; it is parsed again when the file has grown."""

    _end: int = 0
    """Bytes up to the end of the last whole line that was parsed."""

    _tail: bytes = b""
    _state: tuple[int, int, int] = (0, 0, 0)
    """Inode, size in bytes and time of change (ns) when the file was last read."""

    def read(self) -> None:
        """Read what is new. A file that was replaced, shortened or written again is read from its start."""
        if _state(os.stat(self.path)) == self._state:
            return
        with self.path.open("rb") as file:
            info = os.fstat(file.fileno())
            if not (info.st_ino == self._state[0] and info.st_size > self._state[1] and self._tail_is_in(file)):
                self.whole, self._end, self._tail = Lines(), 0, b""
            file.seek(self._end)
            self._take(file.read())
        self._state = _state(info)

    def _tail_is_in(self, file: BinaryIO) -> bool:
        """True when the file has the same bytes as before where the last whole line ended."""
        file.seek(self._end - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _take(self, text: bytes) -> None:
        """Parse text that follows the last whole line."""
        lines = text[: text.rfind(b"\n") + 1]
        self.whole.add(self.path, lines)
        self._end += len(lines)
        self._tail = (self._tail + lines)[-TAIL:]
        self.last = Lines(count=self.whole.count)
        self.last.add(self.path, text[len(lines) :])

    def outcomes(self) -> Iterator[tuple[str, float, Outcome]]:
        """Key, time (s) and outcome of every job in the file, in the order of the lines."""
        for lines in (self.whole, self.last):
            for key, (finished, outcome) in lines.outcomes.items():
                yield key, finished, outcome

    @property
    def warnings(self) -> list[str]:
        """A sentence for each line that is damaged."""
        return [*self.whole.warnings, *self.last.warnings]


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


def add_newest(newest: dict[str, tuple[float, Outcome]], key: str, finished: float, outcome: Outcome) -> None:
    """Add an outcome unless there is one that was finished later; of two that are equally old the last one counts."""
    if finished >= (newest[key][0] if key in newest else -1.0):
        newest[key] = finished, outcome


def _parse(line: bytes, folder: Path) -> Outcome:
    """An outcome from its line, with its trajectory if it has one."""
    outcome = Outcome(**with_causes(codec.loads(line.decode("utf-8"))))
    if not (isinstance(outcome.key, str) and isinstance(outcome.provenance, Mapping)):
        raise TypeError("not an outcome")
    if "trajectory" not in outcome.values:
        return outcome
    return replace(outcome, frames=Trajectory(trajectory_path(folder, outcome.key)))


def _finished(outcome: Outcome) -> float:
    """When a job was finished, in seconds since 1970; 0 where that is not known."""
    time = outcome.provenance.get("finished", 0.0)
    return float(time) if isinstance(time, int | float) else 0.0
