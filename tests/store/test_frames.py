"""A simulation counts only with its frames: what is missing or damaged has no score, and the next run computes it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.api import Report
from assay.errors import Cause
from assay.outcome import ERROR, OK
from assay.results import ModelResult, read_results
from assay.store import Store, codec
from assay.suites import load_suite
from spring_model import run_springs


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    assert run_springs(folder).score == 1.0
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "copy"))


def store_of(folder: Path) -> Store:
    return Store(folder / "results" / "model.py-Springs")


def frames_of(folder: Path) -> Path:
    (path,) = (store_of(folder).folder / "trajectories").glob("*.h5")
    return path


def scored(folder: Path) -> ModelResult:
    return read_results(store_of(folder), load_suite(str(folder / "short.toml")))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2000])


def link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def shorten(path: Path) -> None:
    import h5py

    with h5py.File(path, "r+") as file:
        for name in ("positions", "step", "energy", "kinetic", "volume"):
            file[name].resize(50, axis=0)


SPOILS = {
    "not copied": (lambda path: shutil.rmtree(path.parent), "is missing"),
    "deleted": (Path.unlink, "is missing"),
    "empty": (lambda path: path.write_bytes(b""), "is damaged"),
    "cut off": (cut, "is damaged"),
    "shorter": (shorten, "has 50 of 81 frames"),
    "a link": (link, "is damaged"),
}


@pytest.mark.parametrize(("spoil", "words"), SPOILS.values(), ids=SPOILS)
def test_without_its_frames_a_simulation_has_no_score_and_is_run_again(
    folder: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(frames_of(folder))
    result = scored(folder)
    (seen,) = result.benchmarks[0].observations
    assert (seen.status, seen.cause, result.benchmarks[0].score) == (ERROR, Cause.NOT_RUN, None)
    assert words in seen.reason
    assert any(words in warning and "trajectories" in warning for warning in result.warnings)
    assert result.score == (None, None)
    again: Report = run_springs(folder)
    assert (again.score, again.result.warnings) == (1.0, ())
    assert scored(folder).score[0] == 1.0


def test_what_is_there_is_not_computed_again(folder: Path) -> None:
    before = frames_of(folder).stat().st_mtime_ns
    assert run_springs(folder).score == 1.0
    assert frames_of(folder).stat().st_mtime_ns == before


def test_the_line_that_fits_to_the_frames_counts_whatever_the_clocks_say(folder: Path) -> None:
    store = store_of(folder)
    ((key, outcome),) = [(key, found) for key, found in store.outcomes().items() if "trajectory" in found.values]
    line = outcome.as_dict()
    later = {**line, "values": {**outcome.values, "frames": 7}, "provenance": {"finished": 9e9}}
    (store.folder / "outcomes" / "later.jsonl").write_text(codec.dumps(later) + "\n")
    assert store.outcomes()[key].values["frames"] == 81
    assert store.outcomes().status(key) == OK
