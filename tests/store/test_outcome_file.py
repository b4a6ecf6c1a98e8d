"""A store that is read again parses only what is new, and finds the same as a store that reads everything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.outcome import ERROR, OK, Outcome
from assay.store import Store, codec
from assay.store.outcome_file import OutcomeFile


def outcome(key: str, value: float = 0.0, finished: float = 0.0, status: str = OK) -> Outcome:
    return Outcome(key, status, {"value": value}, provenance={"finished": finished})


def line(key: str, value: float = 0.0, finished: float = 0.0) -> bytes:
    return codec.dumps(outcome(key, value, finished).as_dict()).encode() + b"\n"


def file_of(store: Store, name: str = "1.jsonl") -> Path:
    return store.folder / "outcomes" / name


def append(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def as_if_new(store: Store) -> None:
    """Compare with a store that reads everything from the start."""
    fresh = Store(store.folder)
    assert store.outcomes() == fresh.outcomes()
    assert list(store.outcomes()) == list(fresh.outcomes())
    assert store.warnings == fresh.warnings


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path, "model")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts of all lines that are added to an index from now on."""
    texts: list[bytes] = []
    add = OutcomeFile._add_line

    def add_line(self: OutcomeFile, text: bytes) -> object:
        texts.append(text)
        return add(self, text)

    monkeypatch.setattr(OutcomeFile, "_add_line", add_line)
    return texts


def test_lines_that_were_parsed_are_not_parsed_again(store: Store, parsed: list[bytes]) -> None:
    for round_number in range(1, 4):
        store.append(outcome(f"mine{round_number}"))
        append(file_of(store), line(f"other{round_number}"))
        parsed.clear()
        assert len(store.outcomes()) == 2 * round_number
        assert sorted(codec.json.loads(text)["key"] for text in parsed) == [
            f"mine{round_number}",
            f"other{round_number}",
        ]
        parsed.clear()
        assert len(store.outcomes()) == 2 * round_number
        assert parsed == [], "nothing is new"


def test_files_that_appear_are_read_and_files_that_vanish_are_forgotten(store: Store, parsed: list[bytes]) -> None:
    append(file_of(store, "2.jsonl"), line("a", 2.0, 20.0))
    assert store.outcomes()["a"].values["value"] == 2.0
    append(file_of(store, "1.jsonl"), line("a", 1.0, 10.0) + line("b"))
    parsed.clear()
    assert store.outcomes()["a"].values["value"] == 2.0, "the newest line counts"
    assert len(parsed) == 2
    file_of(store, "2.jsonl").unlink()
    parsed.clear()
    assert {key: o.values["value"] for key, o in store.outcomes().items()} == {"a": 1.0, "b": 0.0}
    assert parsed == []


@pytest.mark.parametrize("order", [("1.jsonl", "2.jsonl"), ("2.jsonl", "1.jsonl")])
def test_of_two_lines_of_one_moment_the_same_one_counts_whenever_they_were_read(
    store: Store, order: tuple[str, str]
) -> None:
    for name in order:
        append(file_of(store, name), line("a", float(name[0]), 5.0))
        store.outcomes()
    assert store.outcomes()["a"].values["value"] == 2.0, "the line of the last file"
    as_if_new(store)


def test_a_torn_line_is_reported_until_its_rest_is_there(store: Store, parsed: list[bytes]) -> None:
    whole = line("b", 7.0)
    append(file_of(store), line("a") + whole[:20])
    assert store.outcomes().keys() == {"a"}
    assert store.warnings == ["1.jsonl line 2 is torn or damaged and was passed over"]
    parsed.clear()
    assert store.outcomes().keys() == {"a"}
    assert store.warnings == ["1.jsonl line 2 is torn or damaged and was passed over"]
    assert parsed == []
    append(file_of(store), whole[20:])
    assert store.outcomes()["b"].values["value"] == 7.0
    assert store.warnings == []
    assert len(parsed) == 1


def test_a_line_without_its_end_counts_and_is_not_counted_twice(store: Store) -> None:
    append(file_of(store), line("a") + line("b", 1.0)[:-1])
    assert store.outcomes().keys() == {"a", "b"}
    append(file_of(store), b"\n{\n" + line("c"))
    assert store.outcomes().keys() == {"a", "b", "c"}
    assert store.warnings == ["1.jsonl line 3 is torn or damaged and was passed over"]
    as_if_new(store)


def test_a_line_that_goes_on_after_a_torn_one_is_lost_with_it(store: Store) -> None:
    append(file_of(store), line("a")[:-10])
    store.outcomes()
    append(file_of(store), line("b") + line("c"))
    assert store.outcomes().keys() == {"c"}
    as_if_new(store)


def test_damaged_lines_keep_their_numbers_when_the_file_grows(store: Store) -> None:
    for _ in range(3):
        append(file_of(store), line("a") + b"[]\n")
        store.outcomes()
    assert [text.partition(" is")[0] for text in store.warnings] == [f"1.jsonl line {n}" for n in (2, 4, 6)]
    as_if_new(store)


def test_a_file_that_is_replaced_is_read_from_its_start(store: Store, tmp_path: Path) -> None:
    append(file_of(store), line("a", 1.0) + line("b", 1.0))
    store.outcomes()
    other = tmp_path / "copy"
    other.write_bytes(line("b", 2.0) + line("c", 2.0) + line("d", 2.0))
    os.replace(other, file_of(store))
    assert {key: o.values["value"] for key, o in store.outcomes().items()} == {"b": 2.0, "c": 2.0, "d": 2.0}
    as_if_new(store)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        line("a", 1.0),
        line("c", 2.0) + line("d", 2.0),
        line("c", 2.0) + line("d", 2.0) + line("e", 2.0),
        line("c", 2.0) + b"{",
    ],
    ids=["empty", "shorter", "as long", "longer", "torn"],
)
def test_a_file_that_is_written_anew_is_read_from_its_start(store: Store, text: bytes) -> None:
    append(file_of(store), line("a", 1.0) + line("b", 1.0))
    store.outcomes()
    before = file_of(store).stat()
    file_of(store).write_bytes(text)
    os.utime(file_of(store), ns=(before.st_atime_ns, before.st_mtime_ns + 1))  # even within one tick of the clock
    as_if_new(store)


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "written in place"])
def test_a_change_far_from_the_end_is_found(store: Store, tmp_path: Path, replaced: bool) -> None:
    rest = b"".join(line(f"long{i}") for i in range(10))
    append(file_of(store), line("a", 1.0) + rest)
    store.outcomes()
    if replaced:
        (tmp_path / "copy").write_bytes(line("a", 2.0) + rest + line("b"))
        os.replace(tmp_path / "copy", file_of(store))
    else:
        before = file_of(store).stat()
        file_of(store).write_bytes(line("a", 2.0) + rest)
        os.utime(file_of(store), ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert store.outcomes()["a"].values["value"] == 2.0


def test_an_error_that_was_read_is_replaced_by_the_answer(store: Store) -> None:
    store.append(outcome("a", finished=1.0, status=ERROR))
    first = store.outcomes()
    store.append(outcome("a", 4.0, finished=2.0))
    assert first["a"].status == ERROR, "what was given out stays as it was"
    assert store.outcomes()["a"].values["value"] == 4.0


PIECES = st.lists(
    st.tuples(st.sampled_from(["1.jsonl", "2.jsonl", "3.jsonl"]), st.integers(0, 3), st.integers(0, 4), st.booleans()),
    max_size=12,
)


@given(PIECES)
def test_whatever_is_written_between_two_readings_the_result_is_that_of_one_reading(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[str, int, int, bool]]
) -> None:
    store = Store.create(tmp_path_factory.mktemp("store"), "model")
    for name, key, finished, torn in pieces:
        text = line(str(key), float(finished), float(finished))
        append(file_of(store, name), text[: len(text) // 2] if torn else text)
        as_if_new(store)
