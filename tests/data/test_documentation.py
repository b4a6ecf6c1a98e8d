"""The example on the page about data is a data set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.data.fetch import kept
from assay.data.mlipaudit import LAYOUTS
from assay.data.official import official
from assay.data.kinds import KINDS
from assay.data.source import open_data
from assay.data.energy_units import ENERGY_UNITS

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    (tmp_path / "my-torsions").mkdir()
    (tmp_path / "my-torsions" / "data.toml").write_text(block("toml"), encoding="utf-8")
    (tmp_path / "my-torsions" / "structures.xyz").write_text(block("text"), encoding="utf-8")
    return tmp_path


def test_the_example_is_read_as_it_stands(example: Path) -> None:
    (data,) = open_data([str(example / "my-torsions")]).given
    (record,) = data.records
    assert record.coordinates == (0.0, 60.0, 120.0, 180.0)
    for angle, structure in zip(record.coordinates, record.structures, strict=True):
        assert structure.to_atoms().get_dihedral(*record.info["torsion"]) == pytest.approx(angle, abs=0.01)  # type: ignore[misc]


def test_the_python_example_runs(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(example)
    exec(block("python"), {})
    assert capsys.readouterr().out.startswith("my-torsions GFN2-xTB")


def test_every_kind_unit_file_and_name_is_on_the_page() -> None:
    for word in (*KINDS, *ENERGY_UNITS, *LAYOUTS, *official()):
        assert f"`{word}`" in PAGE, word


def test_names_in_commands_exist() -> None:
    for name in re.findall(r"assay data (?:fetch|path|verify) ([a-z][\w-]*)", PAGE):
        assert name in official()
    assert kept("a file that was never fetched") is None
