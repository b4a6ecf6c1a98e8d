"""The results folder survives being killed, copied and damaged, and says in one sentence what is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Case
from assay.errors import AssayError
from assay.model import ModelCard
from assay.outcome import ERROR, OK, Outcome
from assay.store import Stamp, Store, codec, open_stores
from toys import model_of


def outcome(key: str, value: float = 0.0, finished: float = 0.0, status: str = OK) -> Outcome:
    return Outcome(key, status, {"value": value}, provenance={"finished": finished})


def value(store: Store, key: str) -> object:
    return store.outcomes()[key].values["value"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path, "model")


def lines_of(store: Store) -> Path:
    (path,) = (store.folder / "outcomes").iterdir()
    return path


def add_line(store: Store, line: bytes, name: str = "other.jsonl") -> None:
    (store.folder / "outcomes" / name).write_bytes(line)


def one_sentence(error: pytest.ExceptionInfo[AssayError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text[-1] not in ".!"
    return text


def test_an_outcome_is_read_back_by_another_store_as_it_was(store: Store) -> None:
    given = Outcome(
        "a", ERROR, {"x": np.array([0.1, np.nan])}, "ö\n\"'", "Traceback\n  line\r\n\u2028", {"finished": 1.5}
    )
    store.append(given)
    (found,) = Store(store.folder).outcomes().values()
    assert found.values["x"].tobytes() == given.values["x"].tobytes()
    assert (found.reason, found.traceback, found.status, found.provenance) == (
        given.reason,
        given.traceback,
        given.status,
        given.provenance,
    )
    assert store.outcomes().keys() == {"a"}
    assert store.warnings == []


def test_every_outcome_is_one_line_that_is_there_at_once(store: Store) -> None:
    for i in range(3):
        store.append(outcome(f"key{i}"))
        assert lines_of(store).read_text().count("\n") == i + 1


def test_a_line_torn_anywhere_is_passed_over_and_reported_and_the_others_stay(store: Store) -> None:
    store.append(outcome("whole"))
    start = lines_of(store).stat().st_size
    store.append(outcome("torn"))
    content = lines_of(store).read_bytes()
    for end in range(start + 1, len(content) - 1):
        lines_of(store).write_bytes(content[:end])
        reader = Store(store.folder)
        assert reader.outcomes().keys() == {"whole"}
        assert len(reader.warnings) == 1
        assert "line 2 is torn" in reader.warnings[0]
    lines_of(store).write_bytes(content[:-1])  # only the end of the line is missing: nothing is lost
    assert Store(store.folder).outcomes().keys() == {"whole", "torn"}


def test_a_new_process_goes_on_after_a_torn_line(store: Store) -> None:
    store.append(outcome("a"))
    path = lines_of(store)
    path.write_bytes(path.read_bytes()[:-10])
    Store(store.folder).append(outcome("a", 2.0))
    assert value(store, "a") == 2.0
    assert len(store.warnings) == 1


def test_warnings_are_those_of_the_last_reading(store: Store) -> None:
    add_line(store, b"{")
    store.outcomes()
    store.outcomes()
    assert len(store.warnings) == 1


def test_the_newest_line_wins_whatever_file_it_is_in(store: Store) -> None:
    for order, times in enumerate([(1.0, 2.0), (2.0, 1.0)]):
        for file, finished in zip(("1.jsonl", "2.jsonl"), times, strict=True):
            line = codec.dumps(outcome(f"key{order}", finished, finished).as_dict())
            with (store.folder / "outcomes" / file).open("a") as stream:
                stream.write(line + "\n")
    assert (value(store, "key0"), value(store, "key1")) == (2.0, 2.0)


def test_of_two_lines_of_one_moment_the_later_one_wins(store: Store) -> None:
    for i in range(3):
        store.append(outcome("a", float(i), 5.0))
    assert value(store, "a") == 2.0


def test_two_writers_never_share_a_file(store: Store) -> None:
    for i in range(4):
        Store(store.folder).append(outcome(f"key{i}"))
    assert len(list((store.folder / "outcomes").iterdir())) == 4
    assert len(store.outcomes()) == 4


def test_two_results_folders_merge_by_copying(tmp_path: Path) -> None:
    first, second = (Store.create(tmp_path / name, "model") for name in ("one", "two"))
    first.append(outcome("a", 1.0, 10.0))
    first.append(outcome("b", 1.0, 10.0))
    second.append(outcome("b", 2.0, 20.0))
    second.append(outcome("c", 2.0, 20.0))
    shutil.copytree(second.folder, first.folder, dirs_exist_ok=True)
    assert {key: value(first, key) for key in "abc"} == {"a": 1.0, "b": 2.0, "c": 2.0}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"3",
        b"null",
        b'"text"',
        b"{}",
        b'{"key":"a"}',
        b'{"key":"a","status":"ok","surprise":1}',
        b"\xff\xfe\x00",
        b'{"key":"a","status":"ok","values":{"x":{"__array__":["|O",[1],"AAAA"]}}}',
        b'{"key":"a","status":"ok","values":{"x":{"__array__":["<f8",[5],"AAAA"]}}}',
        b'{"key":"a","status":"ok","values":{"x":{"__array__":7}}}',
        b'{"key":["a"],"status":"ok"}',
        b'{"key":"a","status":"ok","provenance":3}',
    ],
)
def test_a_damaged_line_never_costs_the_other_outcomes(store: Store, line: bytes) -> None:
    store.append(outcome("good", 7.0))
    add_line(store, line + b"\n", "0.jsonl")
    assert store.outcomes().keys() == {"good"}
    assert value(store, "good") == 7.0
    assert store.warnings == ["0.jsonl line 1 is torn or damaged and was passed over"]


STAMP = Stamp(3, "fingerprint")


def write_cases(store: Store) -> Path:
    context = {"labels": ["x", "y"], "steps": np.array([0.1, 0.2]), "noise": 1e-9}
    cases = [Case("one", {}, context), Case("../two", {}, {}, unsupported="no stress")]
    store.write_cases("verification.toy", STAMP, cases, {"one": {"points": "k1"}, "../two": {}})
    return store.folder / "cases" / "verification.toy.json"


def test_cases_come_back_with_their_numbers_and_keys(store: Store) -> None:
    write_cases(store)
    assert store.benchmarks() == ["verification.toy"]
    stamp, ((one, keys), (two, nothing)) = store.read_cases("verification.toy")
    assert (stamp, keys, nothing) == (STAMP, {"points": "k1"}, {})
    assert (one.id, one.context["labels"], one.context["noise"]) == ("one", ["x", "y"], 1e-9)
    assert one.context["steps"].tolist() == [0.1, 0.2]
    assert (two.id, two.unsupported) == ("../two", "no stress")


def add_cases(store: Store, stamp: Stamp, keep_others: bool) -> list[str]:
    """Write two more cases, one of them known already, and give the ids that are there afterwards."""
    keys = {"one": {"points": "new"}, "three": {"points": "k3"}}
    store.write_cases("verification.toy", stamp, [Case(name, {}) for name in keys], keys, keep_others)
    _, rows = store.read_cases("verification.toy")
    assert {case.id: found for case, found in rows}["one"] == {"points": "new"}
    return [case.id for case, _ in rows]


def test_a_partial_run_adds_cases_to_those_of_the_same_version_and_model(store: Store) -> None:
    keys = {"one": {"points": "k1"}, "two": {"points": "k2"}, "aside": {}}
    store.write_cases("verification.toy", STAMP, [Case(name, {}) for name in keys], keys)
    assert add_cases(store, STAMP, keep_others=True) == ["one", "three", "two"]
    assert add_cases(store, STAMP, keep_others=False) == ["one", "three"]


@pytest.mark.parametrize("other", [Stamp(4, "fingerprint"), Stamp(3, "another")])
def test_cases_of_another_version_or_model_are_not_kept(store: Store, other: Stamp) -> None:
    store.write_cases("verification.toy", STAMP, [Case("two", {})], {"two": {"points": "k2"}})
    assert add_cases(store, other, keep_others=True) == ["one", "three"]
    assert store.read_cases("verification.toy")[0] == other


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"version": 3, "fingerprint": "fingerprint"}'])
def test_a_damaged_file_of_cases_does_not_stop_a_partial_run(store: Store, content: str) -> None:
    write_cases(store).write_text(content)
    assert add_cases(store, STAMP, keep_others=True) == ["one", "three"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        '{"version": 1, "cases": 3}',
        '{"version": 1, "cases": [{"context": {"x": {"__array__": ["|O", [1], ""]}}}]}',
        "{}",
        '{"cases": []}',
        '{"version": null, "cases": []}',
        '{"version": "new", "cases": []}',
        '{"version": 1, "cases": [3]}',
        '{"version": 1, "cases": [{"id": "a"}]}',
        '{"__array__": 3}',
    ],
)
def test_a_damaged_file_of_cases_is_one_sentence_that_names_it(store: Store, content: str) -> None:
    path = write_cases(store)
    path.write_text(content)
    with pytest.raises(AssayError) as error:
        store.read_cases("verification.toy")
    text = one_sentence(error)
    assert str(path) in text
    assert "run the benchmark again" in text


def test_a_file_of_cases_that_is_no_text_is_one_sentence(store: Store) -> None:
    write_cases(store).write_bytes(b"\xff\xfe{}")
    with pytest.raises(AssayError, match="cannot be read") as error:
        store.read_cases("verification.toy")
    one_sentence(error)


def test_results_survive_damaged_cases(store: Store) -> None:
    store.append(outcome("a", 4.0))
    write_cases(store).write_text("{")
    assert value(Store(store.folder), "a") == 4.0
    write_cases(store)
    assert store.read_cases("verification.toy")[0] == STAMP


def test_the_model_file_is_strict_json_that_people_can_read(store: Store) -> None:
    assert store.read_model() == {}
    store.write_model({"name": "m", "noise": float("nan"), "array": np.array([1.0, np.inf]), "elements": (1, 6)})
    text = (store.folder / "model.json").read_text()
    assert "NaN" not in text
    assert "Infinity" not in text
    expected = {"name": "m", "noise": None, "array": [1.0, None], "elements": [1, 6]}
    assert json.loads(text) == expected == store.read_model()


def test_a_damaged_model_file_is_one_sentence(store: Store) -> None:
    (store.folder / "model.json").write_text("[1, 2")
    with pytest.raises(AssayError, match=r"model\.json.*cannot be read") as error:
        store.read_model()
    one_sentence(error)


def test_a_power_cut_while_writing_leaves_the_old_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write_model({"name": "old"})
    path = write_cases(store)
    before = path.read_bytes()

    def cut(*_: object) -> None:
        raise OSError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", cut)
        with pytest.raises((OSError, AssayError), match="power cut"):
            store.write_model({"name": "new"})
        with pytest.raises((OSError, AssayError), match="power cut"):
            store.write_cases("verification.toy", STAMP, [], {})
    assert store.read_model() == {"name": "old"}
    assert path.read_bytes() == before
    assert store.benchmarks() == ["verification.toy"]
    assert list(store.folder.rglob("*.tmp")) == [], "half a file takes the last bytes of a full disk"


def test_finished_writing_leaves_no_other_files(store: Store) -> None:
    store.write_model({"name": "m"})
    write_cases(store)
    assert sorted(p.name for p in store.folder.rglob("*") if p.is_file()) == ["model.json", "verification.toy.json"]


@pytest.mark.parametrize("name", ["../../outside", "/absolute", "a/b/../../..", "..", "C:\\x", "with\nnewline"])
def test_a_hostile_model_name_stays_inside_the_results_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "results"
    model = model_of(object, card=ModelCard(name))
    store = Store.create(root, model.folder)
    store.append(outcome("a"))
    assert store.folder.resolve().parent == root.resolve()
    assert [p.name for p in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize("place", ["results", "results/model", "results/model/outcomes", "results/model/cases"])
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, place: str) -> None:
    blocked = tmp_path / place
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("in the way")
    with pytest.raises(AssayError, match="cannot be made") as error:
        Store.create(tmp_path / "results", "model")
    text = one_sentence(error)
    assert str(tmp_path / "results" / "model") in text
    assert "-o" in text


def test_a_name_longer_than_a_file_name_may_be_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="cannot be made") as error:
        Store.create(tmp_path, "x" * 300)
    one_sentence(error)


@pytest.mark.parametrize("write", ["append", "write_model", "write_cases"])
def test_a_folder_that_vanishes_is_one_sentence(store: Store, write: str) -> None:
    shutil.rmtree(store.folder)
    arguments = {"append": (outcome("a"),), "write_model": ({},), "write_cases": ("verification.toy", STAMP, [], {})}
    with pytest.raises(AssayError) as error:
        getattr(store, write)(*arguments[write])
    assert str(store.folder) in one_sentence(error)


def test_stores_are_found_below_a_results_folder_or_in_it(tmp_path: Path) -> None:
    for name in ("beta", "alpha"):
        Store.create(tmp_path, name)
    (tmp_path / "stranger").mkdir()
    assert [s.folder.name for s in open_stores(tmp_path)] == ["alpha", "beta"]
    assert [s.folder.name for s in open_stores(tmp_path / "beta")] == ["beta"]


@pytest.mark.parametrize("place", ["stranger", "nowhere"])
def test_a_folder_without_results_is_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "stranger").mkdir()
    with pytest.raises(AssayError, match="holds no results") as error:
        open_stores(tmp_path / place)
    assert place in one_sentence(error)
