"""Sets of single structures are read back as they were written, so that one record can be made anew alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from assay.data.embedded import SETS

SCRIPTS = Path(__file__).parents[2] / "data_generation"
NAMES = ("cache", "folder", "systems")


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ModuleType]:
    """The module of the scripts, which are no package."""
    monkeypatch.setenv("ASSAY_GENERATION_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(SCRIPTS))
    before = {name: sys.modules.pop(name, None) for name in NAMES}
    yield importlib.import_module("systems")
    for name, module in before.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


def test_what_is_read_is_written_again_to_the_last_digit(
    systems: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = "assay-stability"
    read = systems.read_systems(name)
    monkeypatch.setattr(systems, "SETS", tmp_path)
    systems.write_systems(name, {}, read)
    structures = (tmp_path / name / "structures.xyz").read_bytes()
    assert structures == (SETS / name / "structures.xyz").read_bytes()
    told = (SETS / name / "data.toml").read_text(encoding="utf-8")
    assert (tmp_path / name / "data.toml").read_text(encoding="utf-8").partition("\n\n")[2] == told.partition("\n\n")[2]
