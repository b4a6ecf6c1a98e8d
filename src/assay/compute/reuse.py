"""How many results of a run were read from the store instead of computed, and how old they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from assay.outcome import ERROR, Outcome


@dataclass(frozen=True)
class Reuse:
    """Results that were in the store before the run: `read` of `all` jobs, computed from `first` to `last`."""

    read: int
    all: int
    folder: Path
    first: date | None = None
    last: date | None = None

    def sentence(self) -> str:
        """What a user must know about the age of the results; empty if all were computed now."""
        if not self.read:
            return ""
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.read} of {self.all} results read from '{self.folder}', computed on {days}"


NOTHING_REUSED = Reuse(0, 0, Path())


def reused_results(stored: Mapping[str, Outcome], keys: Iterable[str], folder: Path) -> Reuse:
    """Which of the jobs with these keys had a result in the store, an error excepted, and when it was computed."""
    wanted = list(keys)
    found = [stored[key] for key in wanted if key in stored and stored[key].status != ERROR]
    days = sorted(day for outcome in found if (day := _day(outcome)) is not None)
    return Reuse(len(found), len(wanted), folder, *((days[0], days[-1]) if days else (None, None)))


def _day(outcome: Outcome) -> date | None:
    """The day on which a job was finished; None where that is not known."""
    finished = outcome.provenance.get("finished")
    try:
        return datetime.fromtimestamp(float(finished)).date()  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, OSError):
        return None
