"""How to run, as opposed to what to run: workers, deadlines, limits, data. Plain data that every command shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real

from assay.elements import atomic_numbers
from assay.errors import AssayError

TIMEOUT = 30.0
"""Seconds after which a worker without a sign of life hangs, unless the user chooses another number. They are also
added to every deadline, which is in CPU time."""

Progress = Callable[[int, int, str], None]
"""A function that is called while jobs run: force calls that are done, force calls in all, and what they are for."""


def silent(done: int, total: int, what: str) -> None:
    """Report no progress: the default, for which a notebook shows a line of its own."""


@dataclass(frozen=True)
class Settings:
    """How to run. All fields have defaults that suit a first run."""

    workers: int | None = None
    """Worker processes; None for one per core, 0 to stay in this process."""

    timeout: float = TIMEOUT
    """Seconds without CPU time or an answer after which a worker hangs; added to every deadline, which is CPU time."""

    limit: int | None = None
    """At most this number of cases of each benchmark."""

    all_species: bool = False
    """Check every species that the model supports, not a sample."""

    elements: tuple[int, ...] | None = None
    """Elements that the model claims, where it claims none itself: symbols or numbers; kept as atomic numbers."""

    device: str | None = None
    """Where the model runs, "cpu" or "cuda"; None for the default of the model."""

    data: tuple[str, ...] = ()
    """Folders of reference data, or names from `assay list data`, that replace the embedded data sets."""

    seeds: int | None = None
    """Run every simulation this number of times, with different velocities."""

    until_error: float | None = None
    """End a simulation when the standard error of its bond length or ring planarity is below this (Å)."""

    fresh: bool = False
    """Put earlier results of the model aside and compute everything again."""

    progress: Progress = silent
    """Called while jobs run. With the default, a notebook shows a line of its own, and nothing is shown elsewhere."""

    def __post_init__(self) -> None:
        if self.elements is not None:
            object.__setattr__(self, "elements", atomic_numbers(self.elements, "the settings"))
        seeds, error = self.seeds, self.until_error
        _require(seeds is None or _is_count(seeds), "seeds", seeds, "a whole number of at least 1")
        _require(error is None or _is_length(error), "until_error", error, "a number of Å above 0")


def _require(right: bool, name: str, value: object, wanted: str) -> None:
    if not right:
        raise AssayError(f"the setting '{name}' cannot be '{value}'; give {wanted}")


def _is_count(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def _is_length(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < inf


DEFAULTS = Settings()
