"""SECURITY.md agrees with the program where it names numbers and options."""

from __future__ import annotations

from pathlib import Path

from assay import suites
from assay.cli import arguments
from assay.compute import logs

ROOT = Path(__file__).parents[2]
TEXT = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())


def test_the_numbers_are_those_of_the_program() -> None:
    assert f"text of at most {suites.LARGEST >> 20} MB" in TEXT
    assert f"A log is at most {logs.LARGEST >> 20} MB, and of each model the newest {logs.MOST} are kept" in TEXT
    assert f"{arguments.INTERNAL} for a bug of Assay" in TEXT
    assert f"{arguments.INTERRUPTED} and 143 for Ctrl-C and SIGTERM" in TEXT


def test_readme_and_the_site_lead_to_it() -> None:
    assert "(SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "security.md").read_text(encoding="utf-8").strip() == '--8<-- "SECURITY.md"'
    assert "security.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
