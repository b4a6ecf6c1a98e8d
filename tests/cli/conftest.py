"""What several tests of the command line share: one model that was checked with every report."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import Done, command


@pytest.fixture(scope="session")
def copper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The folder in which EMT copper was checked with two workers and every report, and the finished command."""
    where = tmp_path_factory.mktemp("copper")
    options = ("--elements", "Cu", "-j", "2", "--json", "--junit", "junit.xml", "--write-configs", "configs")
    return where, command("check", "emt", *options, where=where)
