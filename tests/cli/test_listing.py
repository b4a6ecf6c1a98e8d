"""`assay list` names everything that can be run, for people and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.benchmarks.registry import registered_benchmarks
from assay.cli.listing import listing
from assay.errors import AssayError
from assay.models.install import install_hint
from commands import command, document
from verdicts import strictly

XTB = "pip install 'mlip-assay[xtb]'"


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


def test_lists_name_everything_there_is() -> None:
    assert [row["name"] for row in listing("suites")] == ["laptop", "paper", "smoke"]
    models = {row["name"]: row for row in listing("models")}
    assert {"emt", "lj", "gfn1-xtb", "gfn2-xtb", "kim:NAME", "file.py:factory"} <= set(models)
    assert models["emt"]["installed"] is True
    benchmarks = {row["name"]: row for row in listing("benchmarks")}
    assert benchmarks["verification.forces_match_energy"]["mandatory"] is True
    assert benchmarks["verification.memory_stable"]["mandatory"] is False
    for row in benchmarks.values():
        assert len(str(row["line"])) > 20
        assert "\n" not in str(row["line"])
    for what in ("models", "benchmarks", "suites"):
        strictly(listing(what))


def test_a_list_that_does_not_exist_is_one_sentence() -> None:
    with pytest.raises(AssayError, match="there is no list of 'colours'; there are models, benchmarks, suites"):
        listing("colours")


def test_a_model_that_is_not_installed_is_listed_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    models = {row["name"]: row for row in listing("models")}
    assert f"[not installed: {install_hint(XTB)}]" in str(models["gfn2-xtb"]["line"])
    assert models["gfn2-xtb"]["install"] == install_hint(XTB)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_data_set_takes_one_line(tmp_path: Path, width: int) -> None:
    lines = command("list", "data", where=tmp_path, columns=width).stdout.splitlines()
    rows = listing("data")
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]
    for line, row in zip(lines, rows, strict=True):
        assert len(line) <= width
        assert str(row["kind"]) in line
        assert str(row["size"]).partition(" records")[0].removeprefix("about ") in line
