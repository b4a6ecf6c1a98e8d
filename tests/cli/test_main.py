"""The command as a user meets it: help, version, and one sentence for everything that is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from commands import QUICK, command


def test_help_names_every_command_and_exit_code(tmp_path: Path) -> None:
    done = command("--help", where=tmp_path)
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("run", "check", "score", "list", "exit codes"))
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["run", "check", "score", "list", "data"])
def test_every_command_has_help(tmp_path: Path, name: str) -> None:
    done = command(name, "--help", where=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: assay {name}")
    assert list(tmp_path.iterdir()) == []


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = command("--version", where=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"assay {assay.__version__}\n")


def test_a_reader_who_leaves_early_causes_no_complaint(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "list", "benchmarks"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0


FILES = {
    "factories.py": (
        "def raises():\n    raise ValueError('no weights here\\nsecond line')\n"
        "def text():\n    return 'a string'\n"
        "def nothing():\n    return None\n"
        "def leaves():\n    raise SystemExit(7)\n"
        "number = 5\n"
    ),
    "syntax.py": "def (\n",
    "leaves.py": "raise SystemExit(4)\n",
    "needs.py": "import a_package_that_nobody_has\n",
    "occupied": "this is a file, not a folder\n",
    "suite.toml": "benchmarks = 'verification\n",
    "other.toml": "benchmarks = ['verification']\n[settings.'verification.thread_safe']\nthread = 3\n",
}
WRONG = [
    ((), "COMMAND"),
    (("chek", "emt"), "did you mean 'check'?"),
    (("check",), "MODEL"),
    (("check", "emt", "--jsn"), "--jsn"),
    (("check", "emt", "lj"), "lj"),
    (("check", "emtt"), "did you mean 'emt'?"),
    (("check", "gfn2"), "did you mean 'gfn2-xtb'?"),
    (("check", ""), "''"),
    (("check", ":build"), "''"),
    (("check", "emt", "-b", "rotation_invarance"), "did you mean 'verification.rotation_invariance'?"),
    (("run", "emt", "-b", "rotation_invarance"), "did you mean 'verification.rotation_invariance'?"),
    (("run", "emt", "-s", "smok"), "did you mean 'smoke'?"),
    (("run", "emt", "-s", "missing.toml"), "'missing.toml'"),
    (("run", "emt", "-s", "suite.toml"), "'suite.toml'"),
    (("run", "emt", "-s", "other.toml"), "did you mean 'threads'?"),
    (("run", "emt", "--seeds", "0"), "'0'"),
    (("run", "emt", "--seeds", "-1"), "'-1'"),
    (("run", "emt", "--seeds", "many"), "'many'"),
    (("run", "emt", "--seeds", "1.5"), "'1.5'"),
    (("run", "emt", "--until-error", "0"), "'0'"),
    (("run", "emt", "--until-error", "-1"), "'-1'"),
    (("run", "emt", "--until-error", "small"), "'small'"),
    (("run", "emt", "--until-error", "nan"), "'nan'"),
    (("run", "emt", "--until-error", "inf"), "'inf'"),
    (("run", "emt", "-b", "verification", "--seeds", "2"), "no chosen benchmark has the setting 'seeds'; general."),
    (("run", "emt", "-b", "stability", "--until-error", "0.01"), "no chosen benchmark has the setting 'until_error'"),
    (("run", "emt", "-s", "paper", "--until-error", "0.01"), "'until_error' is off in suite 'paper'"),
    (("check", "emt", "--seeds", "2"), "--seeds"),
    (("list",), "what"),
    (("list", "modles"), "did you mean 'models'?"),
    (("check", "missing.py:build"), "missing.py'"),
    (("check", "factories.py"), "'factories.py:FACTORY'"),
    (("check", "factories.py:rasies"), "did you mean 'raises'?"),
    (("check", "factories.py:number"), "neither a calculator nor a function"),
    (("check", "factories.py:raises", "-j", "1"), "no weights here"),
    (("check", "factories.py:raises", "-j", "0"), "no weights here"),
    (("check", "factories.py:text", "-j", "1"), "gives a str"),
    (("check", "factories.py:text", "-j", "0"), "gives a str"),
    (("check", "factories.py:nothing", "-j", "0"), "gives a NoneType"),
    (("check", "factories.py:leaves", "-j", "1"), "SystemExit: 7"),
    (("check", "factories.py:leaves", "-j", "0"), "SystemExit: 7"),
    (("check", "syntax.py:build"), "SyntaxError"),
    (("check", "leaves.py:build"), "SystemExit: 4"),
    (("check", "needs.py:build"), "a_package_that_nobody_has"),
    (("check", "no.such.module:build"), "'no.such.module'"),
    (("check", "emt", "-j", "-1"), "'-1'"),
    (("check", "emt", "-j", "two"), "'two'"),
    (("check", "emt", "--limit", "0"), "'0'"),
    (("check", "emt", "--limit", "some"), "'some'"),
    (("check", "emt", "--timeout", "0"), "'0'"),
    (("check", "emt", "--timeout", "-3"), "'-3'"),
    (("check", "emt", "--timeout", "nan"), "'nan'"),
    (("check", "emt", "--elements", "Xx"), "'Xx'"),
    (("check", "emt", "--elements", ""), "''"),
    (("check", "emt", "--elements", "Cu,Zz"), "'Zz'"),
    (("check", "lj", *QUICK, "-o", "occupied"), "occupied"),
    (("check", "lj", *QUICK, "--junit", "no/such/folder.xml"), "'no/such/folder.xml'"),
    (("check", "lj", *QUICK, "--write-configs", "occupied"), "'occupied'"),
    (("score", "nowhere"), "'nowhere'"),
    (("score", "occupied"), "'occupied'"),
    (("score", ".", "--suite", "papr"), "did you mean 'paper'?"),
    (("score", ".", "-b", "rotation_invarance"), "did you mean 'verification.rotation_invariance'?"),
    (("score", ".", "--detail"), "give --json, too"),
    (("score", ".", "--csv", "--detail"), "give --json, too"),
    (("run", "emt", "--detail"), "give --json, too"),
    (("check", "emt", "--json", "--detail"), "--detail"),
]


@pytest.mark.parametrize(("arguments", "phrase"), WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG])
def test_wrong_usage_is_one_sentence_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], phrase: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = command(*arguments, where=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("assay: ")
    assert len(done.stderr.splitlines()) == 1
    assert phrase in done.stderr
