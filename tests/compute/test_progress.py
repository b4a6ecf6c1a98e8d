"""The progress of simulations is reported while they run."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from assay.compute import progress
from assay.compute.progress import THREAD, report_simulation_steps
from assay.store.trajectory import Recorder, steps_on_disk, trajectory_path


def written(folder: Path, key: str, *steps: int) -> Recorder:
    """An unfinished trajectory of one atom with a chunk for each step."""
    recorder = Recorder(trajectory_path(folder, key), 1)
    for step in steps:
        recorder.add(np.zeros((1, 3)), (float(step), 0.0, 0.0, 0.0))
        recorder.save({"step": step})
    return recorder


def test_steps_are_those_of_the_last_chunk_until_the_trajectory_is_finished(tmp_path: Path) -> None:
    path = trajectory_path(tmp_path, "abc")
    assert steps_on_disk(path) == 0
    recorder = written(tmp_path, "abc", 0, 5, 250)
    assert steps_on_disk(path) == 250
    recorder.finish({"step": 250})
    assert steps_on_disk(path) == 0


def test_steps_of_all_simulations_are_reported_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    written(tmp_path, "abc", 0, 100)
    written(tmp_path, "def", 0, 30)
    reported: list[int] = []
    seen = threading.Event()

    def report(steps: int) -> None:
        reported.append(steps)
        seen.set()

    with report_simulation_steps(tmp_path, ["abc", "def", "never"], report):
        assert seen.wait(5.0)
    count = len(reported)
    assert set(reported) == {130}
    assert not [thread for thread in threading.enumerate() if thread.name == THREAD]
    assert len(reported) == count


def test_without_simulations_no_thread_is_started(tmp_path: Path) -> None:
    with report_simulation_steps(tmp_path, [], lambda steps: None):
        assert not [thread for thread in threading.enumerate() if thread.name == THREAD]
