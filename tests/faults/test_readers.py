"""Whatever is in a results folder, reading and scoring it ends: with results or one sentence, within 500 MB.

Each test changes one kind of file at random. The short form tries a few changes; `make test-faults` goes on for ten
minutes with each.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.report.csv import print_csv
from assay.report.document import score_document
from assay.report.table import as_text
from assay.results import read_results
from assay.store import Store
from assay.store.trajectory import Recorder, Trajectory
from assay.suites import load_suite
from hostile import BATCH, SECONDS, SHORT, changed_bytes, changed_documents

HANG_SECONDS = 60
"""CPU seconds after which reading one small folder counts as hung; a second is the rule."""

Fuzz = Callable[[Callable[[st.DataObject], None]], None]
pytestmark = pytest.mark.usefixtures("bounded_memory")


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail if the body takes too much CPU time."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"more than {HANG_SECONDS} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def short(work: Callable[[st.DataObject], None]) -> None:
    """Try a few examples, always the same ones."""
    options = settings(
        max_examples=SHORT, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    options(given(st.data())(work))()


def long(work: Callable[[st.DataObject], None]) -> None:
    """Try examples for ten minutes, or for as many seconds as the variable FUZZ_SECONDS says."""
    end = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", SECONDS))
    options = settings(
        max_examples=BATCH, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    while time.monotonic() < end:
        options(given(st.data())(work))()


@pytest.fixture(params=[short, pytest.param(long, marks=pytest.mark.faults)], ids=["short", "long"])
def fuzz(request: pytest.FixtureRequest) -> Fuzz:
    return request.param


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Store:
    shutil.copytree(finished, tmp_path / "copy")
    return Store(tmp_path / "copy" / "results" / "model.py-Springs")


def score(store: Store) -> None:
    """Everything that `assay score` does with a folder."""
    with no_hang():
        result = read_results(Store(store.folder), load_suite(str(store.folder.parents[1] / "short.toml")))
        document = json.dumps(score_document([result], "short", detail=True), allow_nan=False)
        assert document
        as_text(result, 100)
        with open(os.devnull, "w", encoding="utf-8", errors="replace") as nowhere:
            print_csv([result], nowhere)


def test_outcomes(store: Store, fuzz: Fuzz) -> None:
    (path,) = (store.folder / "outcomes").iterdir()
    lines = path.read_text().splitlines()

    def change(data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(lines) - 1))
        new = data.draw(changed_documents(lines[number]))
        others = [line.encode() for i, line in enumerate(lines) if i != number]
        path.write_bytes(b"\n".join([*others, new]) + data.draw(st.sampled_from([b"\n", b""])))
        score(store)

    fuzz(change)


def test_cases(store: Store, fuzz: Fuzz) -> None:
    path = store.folder / "cases" / "molecules.bond_lengths.json"
    text = path.read_text()

    def change(data: st.DataObject) -> None:
        path.write_bytes(data.draw(changed_documents(text)))
        score(store)

    fuzz(change)


def test_the_description_of_a_model(store: Store, fuzz: Fuzz) -> None:
    path = store.folder / "model.json"
    text = path.read_text()

    def change(data: st.DataObject) -> None:
        path.write_bytes(data.draw(changed_documents(text)))
        score(store)

    fuzz(change)


def test_trajectories(store: Store, fuzz: Fuzz) -> None:
    (path,) = (store.folder / "trajectories").glob("*.h5")
    whole = path.read_bytes()
    described = [i for i in range(len(whole)) if i < 3000 or whole[i : i + 4] in (b"TREE", b"SNOD", b"HEAP", b"OHDR")]

    def change(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(described))
        part = whole[start : start + 600]
        path.write_bytes(whole[:start] + data.draw(changed_bytes(part)) + whole[start + len(part) :])
        score(store)
        with no_hang():
            for read in (len, lambda found: found.series("step"), lambda found: list(found.chunks())):
                with suppress(AssayError):
                    read(Trajectory(path))

    fuzz(change)


def test_chunks_of_an_unfinished_simulation(tmp_path: Path, fuzz: Fuzz) -> None:
    path = tmp_path / "trajectories" / "a.h5"
    recorder = Recorder(path, 3)
    for step in range(30):
        recorder.add(np.full((3, 3), float(step)), (step, 0.0, 1.0, 0.0))
        if step % 10 == 9:
            recorder.save({"step": step, "forces": np.zeros((3, 3)), "energy": "0x0"})
    chunk = recorder.folder / "000000000010.h5"
    whole = chunk.read_bytes()

    def change(data: st.DataObject) -> None:
        chunk.write_bytes(data.draw(changed_bytes(whole)))
        with no_hang():
            later = Recorder(path, 3)
            state = later.resume()
            assert state is not None
            assert state["step"] in (9, 29)
        shutil.rmtree(later.folder)

    fuzz(change)
