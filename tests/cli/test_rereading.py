"""A finished run that is started again and `assay score` read no file again and again, and load only what they need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from commands import command

BENCHMARKS = ("-b", "inversion_symmetry", "-b", "forces_match_energy", "-b", "diatomics", "-b", "compression")
MODEL = "assay.sabotage:sound_batch"

WATCHED = """
import json, os, sys
opened = []
def watch(event, arguments):
    if event == "open" and not isinstance(arguments[0], int) and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
        opened.append(os.fsdecode(arguments[0]))
sys.addaudithook(watch)
from assay.cli.main import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "opened": opened, "modules": sorted(sys.modules)}, file)
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished results of a sound model."""
    where = tmp_path_factory.mktemp("finished")
    done = command("run", MODEL, *BENCHMARKS, "-j", "1", where=where)
    assert done.returncode == 0, done.stderr
    return where


@pytest.mark.parametrize("arguments", [("run", MODEL, *BENCHMARKS, "-j", "1"), ("score", "results", *BENCHMARKS)])
def test_no_file_of_the_results_is_read_again_and_again(finished: Path, arguments: tuple[str, ...]) -> None:
    seen = finished / "seen.json"
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(seen), *arguments],
        cwd=finished,
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(seen.read_text())
    assert found["code"] == 0, done.stderr
    results = finished / "results"
    paths = [finished / name for name in found["opened"]]  # the names may be relative to that folder
    opened = Counter(path.relative_to(results) for path in paths if results in path.parents)
    parts = Counter(path.parts[1] for path in opened)
    assert (parts["cases"], parts["model.json"]) == (4, 1)
    assert parts["outcomes"] >= 1
    # Files of outcomes are opened to find their lines and to read them; never again for each group of jobs.
    assert max(count for path, count in opened.items() if path.parts[1] == "cases") == 1
    assert max(opened.values()) <= 2
    # No worker is started, no model is built, and nothing is fitted.
    assert not {"pebble", "torch", "scipy.signal", "scipy.optimize"} & set(found["modules"])
