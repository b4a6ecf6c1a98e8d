"""A disk that is full at any stage of a run: one sentence or an error, and nothing is lost when there is room again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.store.trajectory import Trajectory
from commands import command
from disturbed import Disturbed
from spring_model import RUN_SPRINGS, write_springs

Disk = Callable[[Path, int], None]
JOBS = 200


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Makes a folder a disk of this number of kilobytes, or changes the size of one that it made."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk, and only on Linux")
    mounted: list[Path] = []

    def make(folder: Path, kilobytes: int) -> None:
        options = f"{'remount,' if folder in mounted else ''}size={kilobytes}k"
        folder.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "assay", folder], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
        mounted.append(folder)

    yield make
    for folder in set(mounted):
        subprocess.run(["umount", "--lazy", folder], check=True)


def scored_as(run: Disturbed, undisturbed: Disturbed) -> bool:
    """True if a run that goes on when there is room has lost nothing, stored nothing twice, and has the same scores."""
    run.look()
    run.to_the_end()
    run.look()
    return run.scores() == undisturbed.scores()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Disturbed:
    run = Disturbed(tmp_path_factory.mktemp("undisturbed") / "run", JOBS)
    run.to_the_end()
    return run


EARLY, CASES, OUTCOMES = 24, 108, 220
"""Kilobytes of a disk that is full when elements are asked for, when cases are written, and when the jobs are done."""

SIZES = [EARLY, CASES, OUTCOMES, *(pytest.param(size, marks=pytest.mark.faults) for size in range(8, 300, 12))]


@pytest.mark.parametrize("kilobytes", SIZES)
def test_a_full_disk_is_one_sentence_and_costs_nothing(
    tmp_path: Path, disk: Disk, undisturbed: Disturbed, kilobytes: int
) -> None:
    run = Disturbed(tmp_path, JOBS)
    disk(run.results, kilobytes)
    with run.started() as process:
        printed, messages = process.communicate()
    if kilobytes in (EARLY, CASES, OUTCOMES):
        assert process.returncode == 2, messages
    if process.returncode:
        assert (process.returncode, printed) == (2, "")
        last = messages.splitlines()[-1]
        assert last.startswith("assay: '")
        assert last.endswith("(No space left on device); check that the folder exists and the disk is not full")
        assert "Traceback" not in messages
        assert list(run.results.rglob("*.tmp")) == [], "half a file takes the last bytes"
        assert len(list(run.results.glob("*/logs/*"))) <= run.workers, "no worker is started only to fail"
    disk(run.results, 100_000)
    assert scored_as(run, undisturbed)


@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    "kilobytes", [96, 108, 116, *(pytest.param(size, marks=pytest.mark.faults) for size in range(82, 240, 12))]
)
def test_a_disk_that_is_full_in_the_middle_of_a_simulation_costs_nothing(
    tmp_path: Path, disk: Disk, workers: str, kilobytes: int
) -> None:
    """HDF5 ends the process when it closes a file on a full disk."""
    write_springs(tmp_path, "from assay.store import trajectory\ntrajectory.CHUNK_BYTES = 1000\n")
    disk(tmp_path / "results", kilobytes)
    full = command(*RUN_SPRINGS, "-j", workers, where=tmp_path)
    if kilobytes < 120:
        assert full.returncode in (2, 3), full.stderr
    assert full.returncode in (0, 2, 3), full.stderr
    assert "Traceback" not in full.stderr
    assert list(tmp_path.rglob("*.tmp")) == []
    if full.returncode == 3:
        (case,) = json.loads(full.stdout)["models"][0]["benchmarks"][0]["cases"]
        assert (case["status"], case["score"]) == ("error", None), "the model did nothing wrong"
    disk(tmp_path / "results", 100_000)
    again = command(*RUN_SPRINGS, "-j", workers, where=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["models"][0]["score"] == 1.0
    (path,) = tmp_path.glob("results/*/trajectories/*")
    assert len(Trajectory(path)) == 81


@pytest.mark.parametrize(("limit", "code"), [(40_000, 2), (100_000, 0)], ids=["no room", "room in another file"])
def test_a_limit_for_the_size_of_files_costs_nothing(
    tmp_path: Path, undisturbed: Disturbed, limit: int, code: int
) -> None:
    """A worker whose file is full is replaced by one with a new file, unless nothing can be written at all."""
    run = Disturbed(tmp_path, JOBS, workers=1, limit=limit)
    with run.started() as process:
        _, messages = process.communicate()
    assert process.returncode == code, messages
    assert "Traceback" not in messages
    assert ("File too large" in messages.splitlines()[-1]) == bool(code)
    assert "torn or damaged" in messages or code
    run.limit = None
    assert scored_as(run, undisturbed)
