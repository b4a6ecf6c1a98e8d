"""A clock that goes back, on one machine or between two: neither results nor what is run again depend on it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from disturbed import Disturbed, kill_group

JOBS = 60
CLOCK = """
import itertools, os, time

true, readings = time.time, itertools.count()
ahead, back = float(os.environ["CLOCK_AHEAD"]), float(os.environ["CLOCK_BACK"])
time.time = lambda: true() + ahead - back * next(readings)
"""


def clock(folder: Path, ahead: float = 0.0, back: float = 0.0) -> dict[str, str]:
    """Variables for a command whose clock is ahead of the true one (s) and goes back each time it is read (s)."""
    place = folder / "clock"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(CLOCK)
    paths = [str(place), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "CLOCK_AHEAD": str(ahead), "CLOCK_BACK": str(back)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Disturbed:
    run = Disturbed(tmp_path_factory.mktemp("undisturbed") / "run", JOBS)
    run.to_the_end()
    return run


def test_errors_of_a_machine_with_a_later_clock_do_not_hide_the_answers(tmp_path: Path, undisturbed: Disturbed) -> None:
    run, ten_years = Disturbed(tmp_path, JOBS), 3e8
    run.to_the_end(3, {**clock(tmp_path, ahead=ten_years), "DIES_ABOVE": "3.5"})
    errors = [key for key, status, _ in run.lines() if status == "error"]
    assert len(set(errors) & set(run.job_keys())) > 2
    assert run.scores() != undisturbed.scores()
    run.to_the_end()
    run.look()
    assert run.scores() == undisturbed.scores()
    lines = len(run.lines())
    run.to_the_end()
    assert len(run.lines()) == lines, "and nothing is run a third time"


def test_a_clock_that_goes_back_whenever_it_is_read_changes_nothing(tmp_path: Path, undisturbed: Disturbed) -> None:
    run, random = Disturbed(tmp_path, JOBS), np.random.default_rng(2)
    backwards = clock(tmp_path, back=1000.0)
    with run.started(backwards) as process:
        run.wait_for_evaluations(int(random.integers(10, 30)), 5, process)
        kill_group(process)
    run.look()
    run.to_the_end(0, backwards)
    run.look()
    assert run.scores() == undisturbed.scores()
