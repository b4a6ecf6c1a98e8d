"""`assay list` names everything that can be run, for people and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.benchmarks.registry import registered_benchmarks
from commands import command, document


def test_lists_name_every_benchmark_model_and_suite(tmp_path: Path) -> None:
    benchmarks, models, suites = (
        command("list", what, where=tmp_path).stdout.splitlines() for what in ("benchmarks", "models", "suites")
    )
    assert [line.split()[0] for line in benchmarks] == list(registered_benchmarks())
    assert {"emt", "lj", "gfn1-xtb", "gfn2-xtb", "kim:NAME"} <= {line.split()[0] for line in models}
    assert {"smoke", "laptop", "paper"} == {line.split()[0] for line in suites}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["models", "benchmarks", "suites"])
def test_lists_as_json_have_the_same_names(tmp_path: Path, what: str) -> None:
    plain, data = (command("list", what, *options, where=tmp_path) for options in ((), ("--json",)))
    rows = document(data.stdout)[what]
    assert [row["name"] for row in rows] == [line.split()[0] for line in plain.stdout.splitlines()]
