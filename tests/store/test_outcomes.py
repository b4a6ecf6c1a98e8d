"""Which line of a job counts, and that outcomes are read from disk only when they are asked for."""

from __future__ import annotations

import tracemalloc
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.store import Store, codec, outcome_file


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path, "model")


def write(store: Store, name: str, status: str, finished: float) -> None:
    line = codec.dumps(Outcome("a", status, {"from": name}, provenance={"finished": finished}).as_dict()) + "\n"
    with (store.folder / "outcomes" / f"{name}.jsonl").open("a") as file:
        file.write(line)


@pytest.mark.parametrize("answer", [OK, FAILED, UNSUPPORTED])
@pytest.mark.parametrize("names", permutations("123"), ids="".join)
def test_an_answer_outweighs_errors_whatever_the_clocks_say(store: Store, answer: str, names: tuple[str, ...]) -> None:
    for name, status, finished in zip(names, (ERROR, answer, ERROR), (9e9, 5.0, 1e10), strict=True):
        write(store, name, status, finished)
    found = store.outcomes()
    assert (found["a"].status, found.status("a")) == (answer, answer)
    assert found["a"].values["from"] == names[1]


def test_of_two_errors_and_of_two_answers_the_newest_counts(store: Store) -> None:
    write(store, "1", ERROR, 20.0)
    write(store, "2", ERROR, 10.0)
    assert store.outcomes()["a"].values["from"] == "1"
    write(store, "2", OK, 1.0)
    write(store, "3", OK, 2.0)
    assert store.outcomes()["a"].values["from"] == "3"


def test_values_are_read_when_they_are_asked_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        store.append(Outcome(f"key{number}", OK, {"value": number}))
    found, reads = store.outcomes(), list[bytes]()
    parse = outcome_file.parse_outcome
    monkeypatch.setattr(outcome_file, "parse_outcome", lambda line: (reads.append(line), parse(line))[1])
    assert (len(found), "key7" in found, found.status("key3"), found.get("other")) == (20, True, OK, None)
    assert reads == []
    assert found["key7"].values["value"] == 7
    assert len(reads) == 1


def test_what_was_given_out_is_not_mixed_with_what_replaced_it(store: Store) -> None:
    write(store, "1", OK, 1.0)
    found = store.outcomes()
    (store.folder / "outcomes" / "1.jsonl").write_text('{"key":"b","status":"ok"}\n')
    with pytest.raises(AssayError, match="has changed while it was read; run the command again"):
        found["a"]
    assert store.outcomes().keys() == {"b"}


def test_a_result_that_would_not_be_read_is_an_error_that_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "TEXT_BYTES", 2_000_000)
    store.append(Outcome("a", OK, {"text": "x" * 3_000_000}))
    found = store.outcomes()["a"]
    assert (found.status, dict(found.values)) == (ERROR, {})
    assert found.reason == "the result has more than 2 MB"


def test_an_outcome_in_the_index_takes_little_memory(store: Store) -> None:
    outcome = Outcome("KEY", OK, {"forces": np.zeros((8, 3))}, provenance={"finished": 1.5, "engine": "ase" * 30})
    line = codec.dumps(outcome.as_dict())
    count = 4000
    lines = (line.replace("KEY", f"{number:024x}") + "\n" for number in range(count))
    (store.folder / "outcomes" / "1.jsonl").write_text("".join(lines))
    tracemalloc.start()
    found = store.outcomes()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == count
    assert used / count < 350, "bytes for each outcome"
