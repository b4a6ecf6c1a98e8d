"""Frames on disk are complete, in order, read in chunks, and never damaged by a killed process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

import long_runs
from assay.errors import AssayError
from assay.store import trajectory
from assay.store.trajectory import Recorder, Trajectory


def record(path: Path, frames: int, first: int = 0, save_every: int = 7, by: Recorder | None = None) -> Recorder:
    recorder = by or Recorder(path, 2)
    for i in range(first, frames):
        recorder.add(np.full((2, 3), float(i)), (i, -i, 2.0 * i, 0.0))
        if (i + 1) % save_every == 0:
            recorder.save({"step": i, "forces": np.full((2, 3), 0.1), "energy": (0.1).hex()})
    return recorder


def test_all_frames_are_read_in_order_and_in_chunks(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 23).finish({"step": 22})
    whole = Trajectory(tmp_path / "a.h5")
    assert len(whole) == 23
    chunks = list(whole.chunks(5))
    assert max(len(c) for c in chunks) == 5
    assert np.concatenate([c.positions for c in chunks])[:, 0, 0].tolist() == list(range(23))
    assert whole.series("kinetic").tolist() == [2.0 * i for i in range(23)]
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"], "chunks are joined and removed"


def test_an_interrupted_recording_continues_after_its_last_complete_chunk(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 17)  # 14 frames are on disk, three are lost with the process
    later = Recorder(tmp_path / "a.h5", 2)
    state = later.resume()
    assert state is not None
    assert state["step"] == 13
    assert state["energy"] == (0.1).hex()
    assert state["forces"].tolist() == np.full((2, 3), 0.1).tolist()
    record(tmp_path / "a.h5", 30, first=14, by=later).finish({"step": 29})
    assert Trajectory(tmp_path / "a.h5").series("step").tolist() == list(range(30))


def test_an_unfinished_trajectory_can_be_read(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 17)
    assert len(Trajectory(tmp_path / "a.h5")) == 14


def test_a_damaged_chunk_does_not_affect_earlier_chunks(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 21)
    last = sorted((tmp_path / "a.parts").rglob("*.h5"))[-1]
    last.write_bytes(last.read_bytes()[:100])
    state = Recorder(tmp_path / "a.h5", 2).resume()
    assert state is not None
    assert state["step"] == 13


def test_frames_of_other_atoms_are_not_resumed(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 21)
    assert Recorder(tmp_path / "a.h5", 5).resume() is None


def test_a_recorder_requests_a_save_at_a_fixed_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory, "CHUNK_BYTES", 24 * 10)
    recorder = Recorder(tmp_path / "a.h5", 2)
    due = [recorder.add(np.zeros((2, 3)), (0, 0, 0, 0)) for _ in range(12)]
    assert due.index(True) == 9


def test_a_file_that_is_not_a_trajectory_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.h5").write_text("nothing")
    with pytest.raises(AssayError, match=r"a\.h5' cannot be read .*; delete it and run again"):
        len(Trajectory(tmp_path / "a.h5"))


def peaks(how: str, frames: int, folder: Path) -> dict[str, float]:
    """Peak memory (MB) of a program that makes and judges a run of this number of frames."""
    command = [sys.executable, long_runs.__file__, how, str(frames), str(folder / str(frames))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of another process is read from /proc")
@pytest.mark.parametrize("how", ["written", pytest.param("simulated", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_number_of_frames(how: str, tmp_path: Path) -> None:
    """100 000 frames of seven atoms have 17 MB of positions, and 8 MB of other numbers per frame and their spectra."""
    few, many = (peaks(how, frames, tmp_path) for frames in (10_000, 100_000))
    assert many["frames"] == 100_000
    assert many["made"] - few["made"] < (
        4.0 if how == "written" else 12.0
    )  # the error of a watched quantity is computed
    assert many["judged"] - few["judged"] < 12.0


def both(path: Path) -> tuple[Recorder, Recorder]:
    """Two processes in the middle of the same simulation of 100 frames; the first is ahead."""
    return record(path, 80, save_every=20), record(path, 50, save_every=10)


@pytest.mark.parametrize("links", [True, False], ids=["with second names", "without"])
def test_the_second_of_two_processes_does_not_spoil_the_trajectory_of_the_first(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_second_names)
    path = tmp_path / "a.h5"
    first, second = both(path)
    record(path, 100, first=80, by=first).finish({"step": 99, "by": "first"})
    assert first.overtaken_by is None
    whole = path.read_bytes()
    record(path, 100, first=50, by=second).finish({"step": 99, "by": "second"})
    assert second.overtaken_by == {"step": 99, "by": "first"}
    assert path.read_bytes() == whole
    assert Trajectory(path).series("step").tolist() == list(range(100))
    assert [p.name for p in tmp_path.iterdir()] == ["a.h5"]


def no_second_names(*_: object) -> None:
    raise PermissionError("this file system has no second names")


def test_a_process_does_not_mix_its_frames_with_those_of_another(tmp_path: Path) -> None:
    """Two runs of one simulation drift apart by rounding: frames of both in turn would jump."""
    path = tmp_path / "a.h5"
    first, second = Recorder(path, 2), Recorder(path, 2)
    for recorder, place in ((first, 1.0), (second, 2.0)):
        for i in range(10):
            recorder.add(np.full((2, 3), place), (i, 0.0, 0.0, 0.0))
            if i % 5 == 4:
                recorder.save({"step": i})
    second.finish({"step": 9})
    (frames,) = Trajectory(path).chunks()
    assert np.unique(frames.positions).tolist() == [2.0]


def test_a_damaged_trajectory_is_replaced_and_a_complete_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    record(path, 30).finish({"step": 29})
    path.write_bytes(path.read_bytes()[:-500])
    later = Recorder(path, 2)
    assert later.resume() is None
    record(path, 30, by=later).finish({"step": 29})
    assert len(Trajectory(path)) == 30


def test_a_trajectory_without_its_beginning_is_not_resumed(tmp_path: Path) -> None:
    record(tmp_path / "a.h5", 40, save_every=10)
    (folder,) = (tmp_path / "a.parts").iterdir()
    (folder / "000000000010.h5").unlink()
    state = Recorder(tmp_path / "a.h5", 2).resume()
    assert state is not None
    assert state["step"] == 9, "what follows the hole is not used"


def test_frames_that_vanish_are_said_and_never_joined(tmp_path: Path) -> None:
    recorder = record(tmp_path / "a.h5", 40, save_every=10)
    (folder,) = (tmp_path / "a.parts").iterdir()
    (folder / "000000000010.h5").unlink()
    with pytest.raises(AssayError, match="have vanished; run again"):
        recorder.finish({"step": 39})
    assert not (tmp_path / "a.h5").exists()


def test_a_disk_without_room_for_the_whole_trajectory_is_an_error_and_its_frames_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = record(tmp_path / "a.h5", 40, save_every=10)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5_000))
        with pytest.raises(OSError, match="No space left"):
            recorder.finish({"step": 39})
    assert list(tmp_path.rglob("*.tmp")) == []
    later = Recorder(tmp_path / "a.h5", 2)
    assert later.resume()["step"] == 39
    later.finish({"step": 39})
    assert len(Trajectory(tmp_path / "a.h5")) == 40


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_chunk_that_does_not_fit_on_the_disk_is_an_error_and_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_bytes", lambda path, data: open("/dev/full", "wb", 0).write(data))  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        record(tmp_path / "a.h5", 10, save_every=10)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_chunks_of_earlier_versions_are_resumed(tmp_path: Path) -> None:
    """They were in the folder itself, and the state was an attribute."""
    record(tmp_path / "a.h5", 20, save_every=10)
    (folder,) = (tmp_path / "a.parts").iterdir()
    for chunk in folder.iterdir():
        with h5py.File(chunk, "r+") as file:
            file["state"].attrs["plain"] = bytes(file["state/plain"][:]).decode()
            del file["state/plain"]
        chunk.rename(tmp_path / "a.parts" / chunk.name)
    later = Recorder(tmp_path / "a.h5", 2)
    state = later.resume()
    assert state is not None
    assert state["step"] == 19
    record(tmp_path / "a.h5", 30, first=20, by=later).finish({"step": 29})
    assert Trajectory(tmp_path / "a.h5").series("step").tolist() == list(range(30))
