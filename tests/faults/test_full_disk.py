"""A disk that is full, at every stage of a run: one sentence or an error, and when there is room again, nothing is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from disturbed import Disturbed

Disk = Callable[[Path, int], None]
JOBS = 200


@pytest.fixture
def disk() -> Iterator[Disk]:
    """Makes a folder a disk of this number of kilobytes, or changes the size of one that it made."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk, and only on Linux")
    mounted: list[Path] = []

    def make(folder: Path, kilobytes: int) -> None:
        options = f"{'remount,' if folder in mounted else ''}size={kilobytes}k"
        folder.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "assay", folder], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.decode().strip()}")
        mounted.append(folder)

    yield make
    for folder in set(mounted):
        subprocess.run(["umount", "--lazy", folder], check=True)
