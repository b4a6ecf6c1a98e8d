"""The test bench for faults: a short form of each test runs with all others, the long one with `make test-faults`."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MOST_MEGABYTES = 500
"""Memory that reading a folder may take, whatever is in it."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with a short simulation."""
    from spring_model import run_springs

    folder = tmp_path_factory.mktemp("finished")
    assert run_springs(folder).score == 1.0
    return folder


@pytest.fixture
def bounded_memory() -> Iterator[None]:
    """Within the test, this process may take no more than `MOST_MEGABYTES` on top of what it has."""
    if not sys.platform.startswith("linux"):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MOST_MEGABYTES * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
