"""What starts fast imports little, and what reads results needs no model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.api import Report

HEAVY = ("ase", "torch", "jax", "scipy", "tblite", "kimpy")
MODELS = (
    "ase", "torch", "jax", "tblite", "kimpy", "calorine", "mace", "sevenn", "cloudpickle", "psutil",
)  # fmt: skip


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter that finds the same package."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def imported(*arguments: str) -> tuple[str, set[str]]:
    """What the command prints, and the top-level packages that it imports on the way."""
    code = (
        "import sys\n"
        "from assay.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "print('\\n@@', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    process = python(code, *arguments)
    assert process.returncode == 0, process.stderr
    text, _, names = process.stdout.rpartition("@@")
    return text, set(names.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], "Can this interatomic potential be trusted?"),
        (["--version"], "assay 0."),
        (["check", "--help"], "--junit"),
        (["list", "benchmarks"], "verification.forces_match_energy"),
        (["list", "suites"], "smoke"),
        (["list", "models"], "gfn2-xtb"),
        (["list", "data"], "s22x5"),
        (["data", "path"], "data"),
    ],
)
def test_help_and_lists_import_no_model_package(arguments: list[str], words: str) -> None:
    text, packages = imported(*arguments)
    assert words in text
    assert packages & set(HEAVY) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["score", "--help"], ["data", "fetch", "--help"]])
def test_help_imports_no_numpy(arguments: list[str]) -> None:
    text, packages = imported(*arguments)
    assert text.startswith("usage: assay")
    assert packages & {*HEAVY, "numpy", "rich", "h5py"} == set()


def test_assertions_for_authors_import_neither_a_model_package_nor_a_test_framework() -> None:
    process = python("import sys, assay.testing; print(*sorted({n.partition('.')[0] for n in sys.modules}))")
    assert "assay" in process.stdout.split(), process.stderr
    assert set(process.stdout.split()) & {*HEAVY, "pytest", "hypothesis"} == set()


def test_the_package_itself_imports_nothing() -> None:
    code = (
        "import sys, assay; print(*sorted(n for n in sys.modules if n.partition('.')[0] in ('assay', 'numpy', 'ase')))"
    )
    assert python(code).stdout.split() == ["assay"]


BLOCKED = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {MODELS!r}:
            raise ModuleNotFoundError("import of " + name + " halted")
sys.meta_path.insert(0, Block())
from assay.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_block_blocks() -> None:
    process = python(BLOCKED.replace("from assay.cli.main import main", "import ase"))
    assert process.returncode == 1
    assert "import of ase halted" in process.stderr


@pytest.mark.parametrize("option", ["--json", "--csv", None])
def test_scoring_needs_no_model_package(results: Path, sound_report: Report, option: str | None) -> None:
    process = python(BLOCKED, "score", str(results), "-b", "verification", *([option] if option else []))
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert "verification.forces_match_energy" in process.stdout
    if option == "--json":
        assert json.loads(process.stdout) == json.loads(sound_report.to_json())


def test_reports_need_no_model_package(results: Path) -> None:
    code = BLOCKED.partition("from assay.cli")[0] + (
        "from pathlib import Path\n"
        "from assay.report.junit import write_junit\n"
        "from assay.report.table import as_html, as_text\n"
        "from assay.report.text import text_report\n"
        "from assay.results import read_results\n"
        "from assay.store import open_stores\n"
        "from assay.suites import load_suite\n"
        "root = Path(sys.argv[1])\n"
        "(result,) = [read_results(store, load_suite('smoke')) for store in open_stores(root)]\n"
        "write_junit(result, root / 'junit.xml')\n"
        "print(len(as_html(result)), len(as_text(result)), len(text_report(result)), result.passed)\n"
    )
    process = python(code, str(results))
    assert process.returncode == 0, process.stderr
    assert process.stdout.split()[-1] == "True"


def test_public_names_stay_what_they_are_once_everything_is_imported() -> None:
    code = (
        "import assay\n"
        "first = {name: getattr(assay, name) for name in assay.__all__}\n"
        "import pkgutil, importlib\n"
        "for item in pkgutil.iter_modules(assay.__path__):\n"
        "    if item.name != '__main__': importlib.import_module(f'assay.{item.name}')\n"
        "print([name for name in assay.__all__ if getattr(assay, name) is not first[name]])"
    )
    process = python(code)
    assert process.stdout.strip() == "[]", process.stderr


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    import assay

    with pytest.raises(AttributeError, match="no attribute 'verify'"):
        _ = assay.verify
    assert set(assay.__all__) <= set(dir(assay))
