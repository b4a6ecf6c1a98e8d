"""The examples on the page about data work, and the page has every kind, unit, file and name."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from assay.data.energy_units import ENERGY_UNITS
from assay.data.fetch import kept
from assay.data.kinds import KINDS
from assay.data.mlipaudit import LAYOUTS
from assay.data.official import official
from assay.data.source import open_data

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "data.md").read_text(encoding="utf-8")


def block(language: str, number: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number])


def generated_table() -> str:
    """What `make docs` puts in the place of `kinds.md`."""
    spec = importlib.util.spec_from_file_location("kind_table", DOCS / "scripts" / "kind_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.kind_table())


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


def test_a_kind_is_declared_as_in_the_example(tmp_path: Path, new_kinds: None) -> None:
    exec(block("python", 1), {})
    assert KINDS["umbrellas"].limits.range == 3.0
    frame = "4\nrecord=ammonia reference_energy={0}\nN 0 0 {1}\nH 0.94 0 0\nH -0.47 0.814 0\nH -0.47 -0.814 0\n"
    (tmp_path / "data.toml").write_text('name = "n"\nkind = "umbrellas"\nlevel = "x"\nenergy_unit = "kcal/mol"\n')
    (tmp_path / "a.xyz").write_text(frame.format(0.0, 0.38) + frame.format(5.8, 0.0))
    assert [record.id for record in open_data([str(tmp_path)]).read("umbrellas")[0].records] == ["ammonia"]


def test_every_kind_unit_file_and_name_is_on_the_page() -> None:
    table = generated_table()
    assert '--8<-- "kinds.md"' in PAGE
    assert len(table.splitlines()) == 2 + len(KINDS)
    for kind in KINDS.values():
        assert f"| `{kind.name}` | {kind.what}" in table
    for word in (*ENERGY_UNITS, *LAYOUTS, *official()):
        assert f"`{word}`" in PAGE, word


def test_names_in_commands_exist() -> None:
    for name in re.findall(r"assay data (?:fetch|path|verify) ([a-z][\w-]*)", PAGE):
        assert name in official()
    assert kept("a file that was never fetched") is None
