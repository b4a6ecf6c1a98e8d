"""Results of versions that knew causes only as words are read as if they had been written today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import Cause
from assay.store import Store
from assay.store.legacy import case_row, cause_of_words, with_causes


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("", Cause.NONE),
        ("refused: ValueError: too close", Cause.REFUSED),
        ("returned the energy nan", Cause.NOT_FINITE),
        ("returned the energy -inf", Cause.NOT_FINITE),
        ("returned forces that are not finite", Cause.NOT_FINITE),
        ("returned forces of shape (2, 3) for 3 atoms", Cause.MALFORMED),
        ("returned no energy", Cause.MALFORMED),
        ("not finite: positions or velocities are no numbers any more", Cause.NOT_FINITE),
        ("exploded: the temperature is 20000 K", Cause.EXPLODED),
        ("lost: atom 8 is 11 Å from every other", Cause.ATOM_LOST),
        ("collapsed: atoms 1 and 2 are 0.10 Å apart", Cause.COLLAPSED),
        ("the path could not be walked: too short", Cause.REFUSED),
    ],
)
def test_the_phrases_of_older_versions_have_causes(words: str, cause: Cause) -> None:
    assert cause_of_words(words) == cause


def test_a_line_without_causes_gets_them_for_points_runs_and_rows() -> None:
    values = {
        "reasons": {"1": "returned the energy nan"},
        "stopped": "lost: atom 8 is 11 Å from every other",
        "rows": [{"reason": "refused: no", "factor": 1.0}],
    }
    line = with_causes({"key": "k", "status": "failed", "values": values, "reason": "returned no forces"})
    assert line["cause"] == Cause.MALFORMED
    assert line["values"]["causes"] == {"1": Cause.NOT_FINITE}
    assert line["values"]["stopped_cause"] == Cause.ATOM_LOST
    assert line["values"]["rows"] == [{"reason": "refused: no", "factor": 1.0, "cause": Cause.REFUSED}]


def test_a_line_with_causes_keeps_them_whatever_its_words() -> None:
    line = {"key": "k", "status": "failed", "values": {}, "reason": "returned the energy nan", "cause": "refused"}
    assert with_causes(line) == line


@pytest.mark.parametrize(("name", "cause"), [("lost", Cause.NONE), ("failure", Cause.REFUSED)])
def test_a_case_of_an_older_version_had_its_end_in_the_context(name: str, cause: Cause) -> None:
    row = case_row({"id": "Cu", "keys": {}, "context": {name: "why", "precision": "float64"}, "unsupported": ""})
    assert row["context"] == {"precision": "float64"}
    assert (row[name], row["cause"]) == ("why", cause)


def test_the_store_reads_outcomes_and_cases_of_an_older_version(tmp_path: Path) -> None:
    store = Store.create(tmp_path, "model")
    old = {"key": "k1", "status": "failed", "values": {}, "reason": "refused: no", "traceback": "", "provenance": {}}
    (store.folder / "outcomes" / "1-old.jsonl").write_text(json.dumps(old) + "\n")
    rows = [{"id": "Au", "keys": {}, "context": {"failure": "returned the energy nan"}, "unsupported": ""}]
    cases = {"benchmark": "b.c", "version": 1, "fingerprint": "f", "settings": {}, "cases": rows}
    (store.folder / "cases" / "b.c.json").write_text(json.dumps(cases))
    assert store.outcomes()["k1"].cause == Cause.REFUSED
    ((case, keys),) = store.read_cases("b.c")[1]
    assert (case.failure, case.cause, keys) == ("returned the energy nan", Cause.NOT_FINITE, {})
    assert store.warnings == []


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("the model does not claim H C Cl", Cause.ELEMENTS),
        ("the model does not support Br", Cause.ELEMENTS),
        ("the model takes no charge, and this is +1", Cause.CHARGE),
        ("the model does not support charges, and this is -1", Cause.CHARGE),
        ("there is no data of kind 'tautomers'", Cause.NO_DATA),
        ("the model does not support periodic systems", Cause.NONE),
        ("", Cause.NONE),
    ],
)
def test_a_case_that_is_not_supported_gets_its_cause(words: str, cause: Cause) -> None:
    row = {"id": "a", "keys": {}, "context": {}, "unsupported": words}
    assert case_row(row)["cause"] == cause
    assert case_row({**row, "lost": "", "failure": "", "cause": ""})["cause"] == cause
    assert case_row({**row, "lost": "", "failure": "", "cause": "elements"})["cause"] == Cause.ELEMENTS
