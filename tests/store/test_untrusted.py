"""A results folder from elsewhere can neither stop `assay score` nor make it read what is not in the folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from assay.errors import AssayError
from assay.gaps import Why
from assay.outcome import ERROR, OK, Outcome
from assay.report.document import score_document
from assay.results import ModelResult, read_results
from assay.store import Store, codec, open_stores
from assay.store.trajectory import Trajectory
from assay.suites import load_suite
from spring_model import run_springs

DEEP = 100_000


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run_springs(folder)
    return folder


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Store:
    shutil.copytree(finished, tmp_path / "copy")
    return Store(tmp_path / "copy" / "results" / "model.py-Springs")


def scored(store: Store) -> ModelResult:
    """The results, which can always be printed as JSON."""
    result = read_results(Store(store.folder), load_suite(str(store.folder.parents[1] / "short.toml")))
    json.dumps(score_document([result], "short", detail=True), allow_nan=False)
    return result


def said(result: ModelResult, *words: str) -> bool:
    return any(all(word in warning for word in words) for warning in result.warnings)


LINES = {
    "deep lists": b'{"key":"a","status":"ok","values":{"x":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "deep tables": b'{"key":"a","status":"ok","values":' + b'{"x":' * 900 + b"{}" + b"}" * 900 + b"}",
    "huge whole number": b'{"key":"a","status":"ok","provenance":{"finished":' + b"9" * 4000 + b"}}",
    "huge number": b'{"key":"a","status":"ok","provenance":{"finished":1e999}}',
    "NaN": b'{"key":"a","status":"ok","values":{"x":NaN}}',
    "reason is no text": b'{"key":"a","status":"ok","reason":[]}',
    "cause is no text": b'{"key":"a","status":"failed","cause":{"a":1}}',
    "frames": b'{"key":"a","status":"ok","frames":"x"}',
    "empty key": b'{"key":"","status":"ok"}',
    "long key": b'{"key":"' + b"a" * 5000 + b'","status":"ok"}',
    "key that leads elsewhere": b'{"key":"../../a","status":"ok","values":{"trajectory":"x"}}',
    "array with a huge axis": b'{"key":"a","status":"ok","values":{"x":{"__array__":["<f8",[0,99999999999],""]}}}',
    "many items": b'{"key":"a","status":"ok","values":{"x":[' + b"[]," * 1_000_000 + b"[]]}}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_hostile_line_is_passed_over_and_said(store: Store, line: bytes) -> None:
    (store.folder / "outcomes" / "hostile.jsonl").write_bytes(line + b"\n")
    result = scored(store)
    assert result.score[0] == 1.0
    assert result.warnings == ("hostile.jsonl line 1 is torn or damaged and was passed over",)


def test_a_status_that_does_not_exist_is_no_answer(store: Store) -> None:
    ((key, outcome),) = [(k, o) for k, o in store.outcomes().items() if "trajectory" in o.values]
    for path in (store.folder / "outcomes").iterdir():
        path.write_text(path.read_text().replace(f'"{key}","status":"ok"', f'"{key}","status":"great"'))
    result = scored(store)
    assert outcome.status == OK
    assert (result.score, result.benchmarks[0].observations[0].status) == ((None, None), ERROR)
    assert said(result, "has the unknown status 'great' and was passed over")


def test_many_damaged_lines_are_counted(store: Store) -> None:
    (store.folder / "outcomes" / "bad.jsonl").write_bytes(b"{\n" * 100_000)
    result = scored(store)
    assert len(result.warnings) == 6
    assert said(result, "bad.jsonl 99995 more lines are torn or damaged")


def test_a_line_that_is_too_long_is_passed_over_and_the_next_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.store.outcome_file.TEXT_BYTES", 5_000_000)
    line = codec.dumps(Outcome("b", OK).as_dict()).encode()
    (store.folder / "outcomes" / "long.jsonl").write_bytes(b"x" * 7_000_000 + b"\n" + line + b"\n{\n")
    reader = Store(store.folder)
    assert "b" in reader.outcomes()
    assert reader.warnings == [
        "long.jsonl line 1 has more than 5 MB and was passed over",
        "long.jsonl line 3 is torn or damaged and was passed over",
    ]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def outside(path: Path) -> None:
    target = path.parents[2] / "outside"
    target.write_text('{"key":"stolen","status":"ok"}\n')
    path.symlink_to(target)


KINDS = {"folder": (Path.mkdir, "not a regular file"), "pipe": (pipe, "not a regular file")}
KINDS |= {"device": (device, "a link"), "link out": (outside, "a link"), "loop": (lambda p: p.symlink_to(p), "a link")}


@pytest.mark.parametrize(("make", "what"), KINDS.values(), ids=KINDS)
def test_only_regular_files_of_outcomes_are_read(store: Store, make: Callable[[Path], Any], what: str) -> None:
    make(store.folder / "outcomes" / "hostile.jsonl")
    assert "stolen" not in store.outcomes()
    result = scored(store)
    assert result.score[0] == 1.0
    assert result.warnings == (f"hostile.jsonl is {what} and was passed over",)


@pytest.mark.parametrize("name", ["cases/molecules.bond_lengths.json", "model.json"])
@pytest.mark.parametrize(("make", "what"), KINDS.values(), ids=KINDS)
def test_only_regular_files_of_cases_and_models_are_read(
    store: Store, make: Callable[[Path], Any], what: str, name: str
) -> None:
    path = store.folder / name
    path.unlink()
    make(path)
    result = scored(store)
    if name == "model.json":
        assert said(result, "model.json' cannot be read", what.removeprefix("not "))
        assert result.score[0] == 1.0
    else:
        assert (result.score, result.not_run[0].why) == ((None, None), Why.NOT_RUN)
        assert said(result, f"bond_lengths.json is {what} and was passed over")


@pytest.mark.parametrize("name", ["outcomes", "cases", "trajectories"])
def test_links_to_folders_are_not_followed(store: Store, name: str, tmp_path: Path) -> None:
    (store.folder / name).rename(tmp_path / name)
    (store.folder / name).symlink_to(tmp_path / name)
    result = scored(store)
    assert result.score == (None, None)
    assert said(result, name)
    with pytest.raises(AssayError, match="is a link, which Assay does not follow"):
        Store.create(store.folder.parent, store.folder.name)


def test_a_link_to_a_model_is_not_followed(store: Store, tmp_path: Path) -> None:
    Store.create(tmp_path / "other", "secret")
    (store.folder.parent / "linked").symlink_to(tmp_path / "other" / "secret")
    (found,) = open_stores(store.folder.parent)
    assert found.folder == store.folder
    assert "linked' is a link and was passed over" in found.notes[0]


CASES: dict[str, Callable[[dict[str, Any]], object]] = {
    "id is a list": lambda data: data["cases"][0].update(id=["a"]),
    "id is a number": lambda data: data["cases"][0].update(id=3),
    "keys are a list": lambda data: data["cases"][0].update(keys=["a"]),
    "a key is a table": lambda data: data["cases"][0].update(keys={"run1": {}}),
    "context is text": lambda data: data["cases"][0].update(context="x"),
    "failure is a number": lambda data: data["cases"][0].update(failure=7),
    "cause is a list": lambda data: data["cases"][0].update(cause=[]),
    "a long reason": lambda data: data["cases"][0].update(lost="x" * 1_000_000),
    "a long text": lambda data: data["cases"][0]["context"].update(group="x" * 1_000_000),
    "version is text": lambda data: data.update(version="1"),
    "version is true": lambda data: data.update(version=True),
    "fingerprint is a number": lambda data: data.update(fingerprint=1),
    "cases are a table": lambda data: data.update(cases={}),
    "seeds are text": lambda data: data["settings"].update(seeds="many"),
    "steps are a list": lambda data: data["settings"].update(steps=[1]),
    "data is a number": lambda data: data["cases"][0]["context"].update(data=5),
    "data of numbers": lambda data: data["cases"][0]["context"].update(data={"name": [1]}),
    "null is text": lambda data: data["cases"][0]["context"].update(null="x"),
    "null score is text": lambda data: data["cases"][0]["context"].update(null={"score": "x"}),
}


@pytest.mark.parametrize("change", CASES.values(), ids=CASES)
def test_cases_with_wrong_types_are_passed_over_and_said(store: Store, change: Callable[[Any], object]) -> None:
    path = store.folder / "cases" / "molecules.bond_lengths.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    result = scored(store)
    assert result.score == (None, None)
    assert [gap.why for gap in result.not_run] == [Why.DAMAGED]
    assert said(result, "bond_lengths", "run") or said(result, "bond_lengths", "again")


@pytest.mark.parametrize("wrong", [3, "x", [], {}, None, [[]], {"a": {"b": []}}])
@pytest.mark.parametrize("place", ["name", "fingerprint", "survey", "remarks", "checked", "noise_energy_eV", "refused"])
def test_a_model_file_with_wrong_types_is_said(store: Store, place: str, wrong: object) -> None:
    path = store.folder / "model.json"
    data = json.loads(path.read_text())
    (data if place in data else data["survey"])[place] = wrong
    path.write_text(json.dumps(data))
    result = scored(store)
    assert isinstance(result.name, str)
    assert all(isinstance(remark, str) for remark in result.description.get("survey", {}).get("remarks", []))


def spoil_link(file: h5py.File, other: Path) -> None:
    del file["energy"]
    file["energy"] = h5py.ExternalLink(str(other), "energy")


def spoil_soft_link(file: h5py.File, other: Path) -> None:
    del file["energy"]
    file["energy"] = h5py.SoftLink("/kinetic")


def spoil_storage(file: h5py.File, other: Path) -> None:
    count = len(file["energy"])
    del file["energy"]
    (other.parent / "raw").write_bytes(bytes(8 * count))
    file.create_dataset("energy", (count,), "f8", external=[(str(other.parent / "raw"), 0, 8 * count)])


def spoil_virtual(file: h5py.File, other: Path) -> None:
    layout = h5py.VirtualLayout(shape=file["energy"].shape, dtype="f8")
    layout[:] = h5py.VirtualSource(str(other), "energy", shape=file["energy"].shape)
    del file["energy"]
    file.create_virtual_dataset("energy", layout)


def spoil_size(file: h5py.File, other: Path) -> None:
    for name in ("positions", "step", "energy", "kinetic", "volume"):
        file[name].resize(2_000_000_000, axis=0)


def spoil_compression(file: h5py.File, other: Path) -> None:
    del file["energy"]
    file.create_dataset("energy", data=np.zeros(2_000_000), compression="gzip")


def spoil_pieces(file: h5py.File, other: Path) -> None:
    count = len(file["energy"])
    del file["energy"]
    file.create_dataset("energy", data=np.zeros(count), maxshape=(None,), chunks=(100_000_000,))


def spoil_type(file: h5py.File, other: Path) -> None:
    count = len(file["energy"])
    del file["energy"]
    file.create_dataset("energy", data=["x"] * count)


def spoil_group(file: h5py.File, other: Path) -> None:
    del file["energy"]
    file.create_group("energy")


SPOILS = [spoil_link, spoil_soft_link, spoil_storage, spoil_virtual, spoil_size, spoil_compression]
SPOILS += [spoil_pieces, spoil_type, spoil_group]


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda spoil: spoil.__name__)
def test_a_hostile_trajectory_is_damaged_and_never_followed(
    store: Store, spoil: Callable[[h5py.File, Path], None], tmp_path: Path
) -> None:
    (path,) = (store.folder / "trajectories").glob("*.h5")
    other = tmp_path / "other.h5"
    shutil.copy(path, other)
    with h5py.File(path, "r+") as file:
        spoil(file, other)
    for read in (len, lambda t: list(t.chunks()), lambda t: t.series("energy")):
        with pytest.raises(AssayError, match="cannot be read"):
            read(Trajectory(path))
    result = scored(store)
    assert result.score == (None, None)
    assert said(result, f"the trajectory '{path.name}' is damaged")
