"""Install hints work where Assay came from, and name extras that exist; README, pages and Makefile do, too."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

import assay
from assay.models import family_names, named_models
from assay.models import install as hints

ROOT = Path(__file__).parents[2]
EXTRA = re.compile(r"'(?:mlip-assay|\.)\[([a-z0-9,$*]+)\]'")
XTB = "pip install 'mlip-assay[xtb]'"


@pytest.fixture(autouse=True)
def _asked_anew() -> None:
    hints.clone_folder.cache_clear()


def extras() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


def texts() -> dict[str, str]:
    """Everything that tells a reader how to install something."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *(ROOT / "docs").glob("*.md")]
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def test_every_hint_names_extras_that_exist() -> None:
    commands = [entry.install for entry in named_models().values()]
    commands.append(import_module("assay.models._kim_library").INSTALL)
    for command in commands:
        named = EXTRA.findall(command)
        assert named or command == "pip install ase"
        assert set(named) <= extras()
    families = {family for family, names in family_names().items() if names} - {"classical"}
    assert families <= extras()


def test_pages_name_extras_that_exist() -> None:
    for name, text in texts().items():
        found = {extra for group in EXTRA.findall(text) for extra in group.split(",")} - {"$*"}
        assert found <= extras(), name


def test_readme_and_pages_give_the_same_commands() -> None:
    pages = texts()
    for command in ("pip install '.[xtb,nep]'", "pip install 'mlip-assay[xtb,nep]'"):
        assert command in pages["README.md"]
        assert command in pages["index.md"]
    assert "pip install -e '.[mace]'" in pages["models.md"]


def test_a_clone_takes_the_place_of_the_name() -> None:
    assert hints.clone_folder() == ROOT
    assert hints.install_hint(XTB) == f"pip install -e '{ROOT}[xtb]'"
    assert hints.install_hint("pip install rare") == "pip install rare"


@pytest.mark.parametrize("from_clone", [True, False])
def test_a_copy_that_pip_installed_remembers_where_it_came_from(
    tmp_path: Path, from_clone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    (clone / "pyproject.toml").write_text('[project]\nname = "mlip-assay"\n', encoding="utf-8")
    record = json.dumps({"url": clone.as_uri(), "dir_info": {}}) if from_clone else None
    monkeypatch.setattr(assay, "__file__", str(tmp_path / "lib" / "site-packages" / "assay" / "__init__.py"))
    found = SimpleNamespace(read_text=lambda name: record)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)
    assert hints.install_hint(XTB) == (f"pip install -e '{clone}[xtb]'" if from_clone else XTB)
    hints.clone_folder.cache_clear()
