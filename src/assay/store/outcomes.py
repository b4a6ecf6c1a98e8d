"""The outcomes of a results folder by the keys of their jobs; what is asked for is read from disk at that moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.outcome import ERROR, Outcome
from assay.store.outcome_file import HAS_FRAMES, HAS_REMARK, OutcomeFile

_ROW_BITS = 40
"""The place of an outcome is one number, which takes little memory: that of its file, and in these bits its row."""


class Outcomes(Mapping[str, Outcome]):
    """Every finished job by its key, as the folder was when it was read.

    Of several lines of one job, an answer counts before an error, whatever the clocks say, then the newest line. A job
    whose trajectory is missing or damaged is not finished: it is left out, and `lacking` says why.
    """

    def __init__(self, files: Sequence[OutcomeFile] = ()) -> None:
        self._files = tuple(files)
        self._places = _best_places(self._files)
        self._checked: dict[str, tuple[int | None, str]] = {}
        self._runs: dict[str, list[int]] | None = None

    def __getitem__(self, key: str) -> Outcome:
        place = self._place(key)
        if place is None:
            raise KeyError(key)
        return self._load(place)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._place(key) is not None

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._places if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def status(self, key: str) -> str | None:
        """The status of a job, without reading its values; None if it is not finished."""
        place = self._place(key)
        return None if place is None else self._file(place).status(_row(place))

    def line(self, key: str) -> tuple[Path, int] | None:
        """The file and the row of the line that counts, by which two readings are compared; None if there is none."""
        place = self._places.get(key)
        return None if place is None else (self._file(place).path, _row(place))

    def lacking(self, key: str) -> str:
        """Why the frames of a job that has an outcome cannot be used; empty if they can or if it has none."""
        return "" if key not in self._places or key in self else self._checked[key][1]

    @property
    def without_frames(self) -> list[str]:
        """Why the frames of jobs that were asked for cannot be used, a sentence for each of them."""
        return [reason for place, reason in self._checked.values() if place is None]

    def remarked(self) -> Iterator[Outcome]:
        """The outcomes of jobs whose batches were given up."""
        for key, place in self._places.items():
            if self._file(place).kinds[_row(place)] & HAS_REMARK and key in self:
                yield self._load(place)

    def _file(self, place: int) -> OutcomeFile:
        return self._files[place >> _ROW_BITS]

    def _load(self, place: int) -> Outcome:
        return self._file(place).load(_row(place))

    def _place(self, key: str) -> int | None:
        """The place of an outcome that can be used."""
        place = self._places.get(key)
        if place is None or not self._file(place).kinds[_row(place)] & HAS_FRAMES:
            return place
        if key not in self._checked:
            self._checked[key] = self._with_frames(key, place)
        return self._checked[key][0]

    def _with_frames(self, key: str, best: int) -> tuple[int | None, str]:
        """The best line of a simulation that fits to its frames on disk, or why there is none."""
        reason = _problem(self._load(best))
        if not reason:
            return best, ""
        if self._runs is None:
            self._runs = _all_runs(self._files)
        others = (place for place in reversed(self._runs[key]) if place != best and not _problem(self._load(place)))
        return next(((place, "") for place in others), (None, reason))


def _problem(outcome: Outcome) -> str:
    if outcome.frames is None or outcome.status == ERROR:
        return ""
    return outcome.frames.problem(outcome.values.get("frames"), outcome.values.get("natoms"))


def _row(place: int) -> int:
    return place & (1 << _ROW_BITS) - 1


def _best_places(files: Sequence[OutcomeFile]) -> dict[str, int]:
    """The place of the line that counts, for each key."""
    best: dict[str, int] = {}
    for number, file in enumerate(files):
        start = number << _ROW_BITS
        for row in file.rows():
            key = file.keys[row]
            old = best.get(key)
            if old is None or _counts_more(file, row, files[old >> _ROW_BITS], _row(old)):
                best[key] = start | row
    return best


def _counts_more(new: OutcomeFile, row: int, old: OutcomeFile, old_row: int) -> bool:
    """True if a line outweighs one before it: an answer outweighs an error, else the later time counts."""
    answers = new.status(row) != ERROR, old.status(old_row) != ERROR
    return answers[0] if answers[0] != answers[1] else new.finished[row] >= old.finished[old_row]


def _all_runs(files: Sequence[OutcomeFile]) -> dict[str, list[int]]:
    """The places of all lines with a trajectory, by their keys."""
    runs: dict[str, list[int]] = {}
    for number, file in enumerate(files):
        for row in file.rows():
            if file.kinds[row] & HAS_FRAMES:
                runs.setdefault(file.keys[row], []).append(number << _ROW_BITS | row)
    return runs
