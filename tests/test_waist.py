"""The waist holds: what needs the model is in `compute/`, and nothing right of the store reaches it.

The imports of every module are read from its source, those inside functions too, and followed. So an import that is
planted anywhere right of the store is found, whether a test runs that line or not.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import assay
from assay.benchmarks.registry import registered_benchmarks

SOURCE = Path(assay.__file__).parent
PLAIN = (
    "text",
    "structure", "jobs", "outcome", "model", "survey", "benchmark", "configurations", "units", "errors", "naming",
    "score", "importing", "settings", "observation", "elements", "reasons",
)  # fmt: skip
RIGHT = (
    "results",
    "gaps",
    "categories",
    "comparison",
    "composite",
    "score",
    "report",
    "benchmarks",
    "analysis",
    "store",
    "suites",
)
LEFT = ("assay.compute", "assay.models", "assay.sabotage", "assay.api", "assay.cli")
CALCULATORS = ("ase.calculators", "torch", "jax", "tblite", "kimpy", "calorine", "mace", "torchani")


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("assay", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a module imports anywhere, but for the eyes of a type checker only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imported(node)


def reached(start: str, sources: dict[str, Path]) -> dict[str, str]:
    """Every name that is imported from a module on, with the module that imports it."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        for name in imported(ast.parse(sources[module].read_text(encoding="utf-8"))):
            if name not in found:
                found[name] = module
                if name in sources:
                    waiting.append(name)
    return found


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    """True for a module or something in it."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def right_of_the_store() -> list[str]:
    """Modules that read results."""
    return [name for name in modules() if within(name, tuple(f"assay.{room}" for room in RIGHT))]


def violations(start: str, sources: dict[str, Path]) -> dict[str, str]:
    """Imports that must not be reached from a module right of the store."""
    return {name: by for name, by in reached(start, sources).items() if within(name, (*LEFT, *CALCULATORS))}


@pytest.mark.parametrize("name", right_of_the_store())
def test_nothing_right_of_the_store_reaches_the_model(name: str) -> None:
    assert violations(name, modules()) == {}


@pytest.mark.parametrize(
    "planted", ["from assay.compute.runner import Runner", "import torch", "from assay import api"]
)
@pytest.mark.parametrize("lazy", [False, True])
def test_an_import_that_is_planted_is_found(planted: str, lazy: bool, tmp_path: Path) -> None:
    victim = "assay.analysis.blocks"
    text = modules()[victim].read_text(encoding="utf-8")
    more = f"\n\ndef late():\n    {planted}\n" if lazy else f"\n{planted}\n"
    (tmp_path / "blocks.py").write_text(text + more, encoding="utf-8")
    sources = {**modules(), victim: tmp_path / "blocks.py"}
    assert violations("assay.results", modules()) == {}
    assert violations("assay.benchmarks.molecules.ring_planarity", sources)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_data_imports_plain_data_only(name: str) -> None:
    tree = ast.parse(modules()[f"assay.{name}"].read_text(encoding="utf-8"))
    own = {part for part in imported(tree) if part in modules() and part != "assay"}
    late = {"assay.data.source"}  # the default of `Scope.data`, imported when a run needs data
    assert own - late <= {f"assay.{plain}" for plain in PLAIN}


def test_only_the_door_and_the_command_line_import_compute() -> None:
    users = set()
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not within(name, ("assay.compute",)) and any(within(n, ("assay.compute",)) for n in imported(tree)):
            users.add(name)
    # The kits for tests run models, too: they make reference data and try adapters.
    doors = ("assay.api", "assay.cli", "assay.sabotage", "assay.testing")
    assert {name for name in users if not within(name, doors)} == set()


SCORE = """
import sys
from assay.cli.main import main
code = main(sys.argv[1:])
print("@@", *sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("options", [["--json"], ["--csv"], ["--composite", "paper"]], ids=["json", "csv", "table"])
def test_scoring_every_category_loads_no_model_and_no_compute(every_category: Path, options: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run(
        [sys.executable, "-c", SCORE, "score", str(every_category), *options],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    loaded = process.stderr.rpartition("@@")[2].split()
    assert [name for name in loaded if within(name, (*LEFT[:3], "ase", *CALCULATORS))] == []
    if options == ["--json"]:
        (model,) = json.loads(process.stdout)["models"]
        assert set(model["categories"]) == {name.partition(".")[0] for name in registered_benchmarks()}
        assert all(entry["coverage"][0] > 0 for entry in model["categories"].values())
