"""The progress of simulations is told while they run."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from assay.compute import progress as looking
from assay.compute.progress import lookout
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


def test_steps_of_all_simulations_are_told_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "INTERVAL", 0.01)
    written(tmp_path, "abc", 0, 100)
    written(tmp_path, "def", 0, 30)
    told: list[int] = []
    seen = threading.Event()

    def tell(steps: int) -> None:
        told.append(steps)
        seen.set()

    with lookout(tmp_path, ["abc", "def", "never"], tell):
        assert seen.wait(5.0)
    count = len(told)
    assert set(told) == {130}
    assert not [thread for thread in threading.enumerate() if thread.name == "assay lookout"]
    assert len(told) == count


def test_without_simulations_nobody_looks(tmp_path: Path) -> None:
    with lookout(tmp_path, [], lambda steps: None):
        assert not [thread for thread in threading.enumerate() if thread.name == "assay lookout"]
