"""The command line as a user meets it: real processes, their output, and their exit codes."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import assay
from assay.benchmarks.registry import registered_benchmarks

BROKEN = Path(__file__).parents[1] / "broken"
QUICK = ("-j", "0", "-b", "inversion_symmetry")
CHECK_KEYS = {
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "comment",
}  # fmt: skip
BENCHMARK_KEYS = {"name", "version", "score", "stderr", "coverage", "metrics", "cases"}
METRIC_KEYS = {"name", "value", "stderr", "unit", "threshold", "score", "coverage", "ideal"}
CHECKS = {name: kind for name, kind in registered_benchmarks().items() if name.startswith("verification.")}
CASE_KEYS = {"id", "status", "values", "score", "reason"}


def command(*arguments: object, where: Path) -> subprocess.CompletedProcess[str]:
    """Run `assay` in a folder and wait for it."""
    return subprocess.run(
        [sys.executable, "-m", "assay", *map(str, arguments)],
        cwd=where,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def numbers(value: object) -> Iterator[float]:
    """Every number in a JSON document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, float):
        yield value


def document(text: str) -> dict:
    """The one JSON document that a text is; NaN and infinity are not JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert all(math.isfinite(x) for x in numbers(found))
    return dict(found)


@pytest.fixture(scope="module")
def copper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The folder in which EMT copper was checked with two workers and every report, and what came of it."""
    where = tmp_path_factory.mktemp("copper")
    options = ("--elements", "Cu", "-j", "2", "--json", "--junit", "junit.xml", "--write-configs", "configs")
    return where, command("check", "emt", *options, where=where)


def test_help_names_every_command_and_exit_code(tmp_path: Path) -> None:
    done = command("--help", where=tmp_path)
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("run", "check", "score", "list", "exit codes"))
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["run", "check", "score", "list"])
def test_every_command_has_help(tmp_path: Path, name: str) -> None:
    done = command(name, "--help", where=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: assay {name}")
    assert list(tmp_path.iterdir()) == []


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = command("--version", where=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"assay {assay.__version__}\n")


def test_lists_name_every_benchmark_model_and_suite(tmp_path: Path) -> None:
    benchmarks, models, suites = (
        command("list", what, where=tmp_path).stdout.splitlines() for what in ("benchmarks", "models", "suites")
    )
    assert [line.split()[0] for line in benchmarks] == list(registered_benchmarks())
    assert {"emt", "lj", "gfn1-xtb", "gfn2-xtb", "kim:NAME"} <= {line.split()[0] for line in models}
    assert {"smoke", "laptop", "paper"} == {line.split()[0] for line in suites}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["models", "benchmarks", "suites"])
def test_lists_as_json_have_the_same_names(tmp_path: Path, what: str) -> None:
    plain, data = (command("list", what, *options, where=tmp_path) for options in ((), ("--json",)))
    rows = document(data.stdout)[what]
    assert [row["name"] for row in rows] == [line.split()[0] for line in plain.stdout.splitlines()]


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


def test_a_whole_category_may_be_named(tmp_path: Path) -> None:
    done = command("check", "lj", "-j", "0", "-b", "verification", "--dry-run", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(document(done.stdout)["dry_run"][0]["benchmarks"]) == set(CHECKS)


def test_check_prints_one_json_document_with_the_keys_of_the_contract(
    copper: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = copper
    assert done.returncode == 0, done.stderr
    found = document(done.stdout)
    assert found["model"] == "emt"
    assert found["passed"] is True
    assert [check["name"] for check in found["checks"]] == list(CHECKS)
    for check in found["checks"]:
        assert set(check) >= CHECK_KEYS
        assert check["status"] in {"ok", "failed", "unsupported", "error"}
        assert check["passed"] in {True, False, None}
        assert check["grade"] in {*"ABCDF", None}
        assert (check["passed"] is True) == (check["status"] == "ok")
        assert check["evaluated"] > 0 or check["status"] != "ok"


def test_junit_file_has_one_case_for_each_check(copper: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    where, done = copper
    suite = ElementTree.parse(where / "junit.xml").getroot()
    names = [case.get("name") for case in suite.iter("testcase")]
    checks = document(done.stdout)["checks"]
    assert names == [check["name"] for check in checks]
    assert int(suite.get("skipped", "-1")) == sum(check["status"] == "unsupported" for check in checks)
    assert int(suite.get("failures", "-1")) == sum(check["status"] == "failed" for check in checks)


def test_written_configurations_are_read_back_by_ase(copper: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    from ase.io import read

    where, _ = copper
    patterns = ("FFF", "TTT", "TTF", "TFT", "TFF", "FTT", "FTF", "FFT")
    assert {path.name for path in (where / "configs").iterdir()} == {f"config-Cu-{p}.xyz" for p in patterns}
    for pattern in patterns:
        atoms = read(where / "configs" / f"config-Cu-{pattern}.xyz")
        assert set(atoms.symbols) == {"Cu"}
        assert "".join("T" if periodic else "F" for periodic in atoms.pbc) == pattern
        assert np.isfinite(atoms.positions).all()
        assert pattern == "FFF" or atoms.cell.volume > 1.0


def test_text_report_has_every_check_and_configuration(copper: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    where, _ = copper
    done = command("check", "emt", "--elements", "Cu", "-j", "0", "--text", where=where)
    assert done.returncode == 0
    for name in CHECKS:
        assert f"Check {name}, version" in done.stdout
    for phrase in ("Grade          : A", "Cu-TTF", "Tolerance      : ", "evaluated, 0 refused", "passes all mandatory"):
        assert phrase in done.stdout


def test_table_says_pass_and_names_the_mandatory_checks(copper: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    where, _ = copper
    done = command("check", "emt", "--elements", "Cu", "-j", "0", where=where)
    assert "emt passes all mandatory checks." in done.stdout
    for name, kind in CHECKS.items():
        assert name.partition(".")[2] + ("*" if getattr(kind, "mandatory", False) else " ") in done.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_model_that_prints_does_not_spoil_json(tmp_path: Path, workers: str) -> None:
    talkative = f"{BROKEN / 'talkative.py'}:Talkative"
    done = command("check", talkative, "-j", workers, "-b", "inversion_symmetry", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert document(done.stdout)["passed"] is True


def test_a_model_that_prints_does_not_spoil_a_dry_run(tmp_path: Path) -> None:
    talkative = f"{BROKEN / 'talkative.py'}:Talkative"
    done = command("check", talkative, *QUICK, "--dry-run", "--json", where=tmp_path)
    assert set(document(done.stdout)) == {"dry_run"}


def test_dry_run_counts_force_calls_and_runs_no_benchmark(tmp_path: Path) -> None:
    arguments = ("check", "lj", *QUICK)
    before, again = (
        document(command(*arguments, "--dry-run", "--json", where=tmp_path).stdout)["dry_run"][0] for _ in range(2)
    )
    assert before["model"] == "lj"
    assert before["benchmarks"] == {"verification.inversion_symmetry": 2}
    assert (before["jobs"], before["jobs_missing"], before["force_calls"]) == (2, 2, 6)
    assert again["jobs_missing"] == 2
    printed = command(*arguments, "--dry-run", where=tmp_path)
    assert printed.returncode == 0
    assert "about 6 force calls" in printed.stdout
    (line,) = (text for text in printed.stdout.splitlines() if "inversion_symmetry" in text)
    assert line.replace("│", " ").split()[1:4] == ["2", "2", "6"]
    assert command(*arguments, where=tmp_path).returncode == 0
    after = document(command(*arguments, "--dry-run", "--json", where=tmp_path).stdout)["dry_run"][0]
    assert (after["jobs"], after["jobs_missing"], after["force_calls"]) == (2, 0, 0)


def test_dry_run_says_where_the_time_goes(tmp_path: Path) -> None:
    names = ("memory_stable", "rotation_invariance", "diatomics")
    arguments = [part for name in names for part in ("-b", name)]
    done = command("run", "assay.sabotage:sound_batch", *arguments, "-j", "2", "--dry-run", "--json", where=tmp_path)
    (row,) = document(done.stdout)["dry_run"]
    costs = {cost["benchmark"].partition(".")[2]: cost for cost in row["costs"]}
    assert list(costs) == list(names)
    for key, total in (("jobs", "jobs_missing"), ("force_calls", "force_calls"), ("seconds", "cpu_seconds")):
        assert sum(cost[key] for cost in row["costs"]) == pytest.approx(row[total])
    assert all(cost["seconds"] > 0.0 and cost["extrapolated"] is False for cost in row["costs"])
    assert costs["memory_stable"]["seconds"] <= 10.0, "it keeps to its time"
    assert row["workers"] == 2
    assert 0.5 * row["cpu_seconds"] <= row["clock_seconds"] <= row["cpu_seconds"]
    assert {pace["periodic"] for pace in row["pace"]} == {True, False}
    assert all(0.0 < pace["seconds"] < 1.0 and pace["atoms"] >= 1 for pace in row["pace"])
    assert all(pace["seconds_together"] <= pace["seconds"] for pace in row["pace"])


def test_dry_run_leaves_finished_results_as_they_are(tmp_path: Path) -> None:
    command("check", "lj", *QUICK, where=tmp_path)
    before = command("score", "results", "--json", where=tmp_path).stdout
    command("check", "lj", *QUICK, "--limit", "1", "--dry-run", where=tmp_path)
    assert command("score", "results", "--json", where=tmp_path).stdout == before


def test_limit_takes_so_many_cases_of_each_benchmark(tmp_path: Path) -> None:
    names = ("rotation_invariance", "periodicity_support")
    arguments = [part for name in names for part in ("-b", name)]
    done = command("run", "lj", *arguments, "--limit", "1", "-j", "0", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {b["name"]: len(b["cases"]) for b in document(done.stdout)["models"][0]["benchmarks"]}
    assert found == {f"verification.{name}": 1 for name in names}


def test_score_needs_no_model(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("from assay.sabotage import SoundPotential\nclass Mine(SoundPotential):\n    claims = ('Cu',)\n")
    done = command("run", "model.py:Mine", "-b", "rotation_invariance", "-j", "0", "--json", where=tmp_path)
    model.unlink()
    again = command("score", "results", "--json", where=tmp_path)
    assert again.returncode == 0, again.stderr
    assert document(again.stdout) == document(done.stdout)


def test_score_document_has_the_keys_of_the_contract(copper: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    where, _ = copper
    done = command("score", "results", "--json", where=where)
    found = document(done.stdout)
    assert found["suite"] == "smoke"
    (model,) = found["models"]
    assert {"name", "score", "stderr", "coverage", "categories", "benchmarks"} <= set(model)
    assert set(model["categories"]["verification"]) == {"score", "stderr", "coverage"}
    assert [b["name"] for b in model["benchmarks"]] == list(CHECKS)
    for benchmark in model["benchmarks"]:
        assert set(benchmark) >= BENCHMARK_KEYS
        assert all(set(metric) == METRIC_KEYS for metric in benchmark["metrics"])
        assert benchmark["cases"]
        assert all(set(case) == CASE_KEYS for case in benchmark["cases"])
        assert len(benchmark["cases"]) == benchmark["coverage"][1]
    scores = [b["score"] for b in model["benchmarks"] if b["score"] is not None]
    assert model["score"] == pytest.approx(sum(scores) / len(scores))


def test_score_prints_a_table_and_csv_with_the_same_numbers(
    copper: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    where, _ = copper
    table = command("score", "results", where=where)
    rows = list(csv.DictReader(io.StringIO(command("score", "results", "--csv", where=where).stdout)))
    assert table.returncode == 0
    assert [row["benchmark"] for row in rows] == list(CHECKS)
    for row in rows:
        line = next(text for text in table.stdout.splitlines() if f" {row['benchmark']} " in text)
        assert (f"{float(row['score']):.2f}" if row["score"] else "—") in line


def test_run_takes_several_models_and_score_shows_them_side_by_side(tmp_path: Path) -> None:
    done = command("run", "lj", "assay.sabotage:sound_batch", *QUICK, where=tmp_path)
    assert done.returncode == 0, done.stderr
    names = [
        model["name"] for model in document(command("score", "results", "--json", where=tmp_path).stdout)["models"]
    ]
    assert sorted(names) == ["assay.sabotage:sound_batch", "lj"]
    assert "lj passes" in done.stdout
    assert "suite smoke" in done.stdout


EXITS = [
    ("assay.sabotage:sound_batch", "forces_match_energy", 0),
    ("assay.sabotage:zero_force", "forces_match_energy", 1),
    ("assay.sabotage:raises", "species_supported", 1),
    ("assay.sabotage:nan_for_one_species", "species_supported", 1),
    ("assay.sabotage:external_field", "net_force_zero", 0),  # failed, but not mandatory
    ("assay.sabotage:kills_process", "forces_match_energy", 3),
]


@pytest.mark.parametrize(("model", "check", "code"), EXITS, ids=[f"{model} {check}" for model, check, _ in EXITS])
def test_exit_code_of_a_check(tmp_path: Path, model: str, check: str, code: int) -> None:
    done = command("check", model, "-b", check, "-j", "1", "--timeout", "2", "--json", where=tmp_path)
    assert done.returncode == code, done.stderr
    assert document(done.stdout)["passed"] is (model == "assay.sabotage:sound_batch")


def test_exit_code_of_a_run_with_a_broken_model_among_sound_ones(tmp_path: Path) -> None:
    done = command("run", "lj", "assay.sabotage:zero_force", "-b", "forces_match_energy", "-j", "0", where=tmp_path)
    assert done.returncode == 1
    assert "lj passes" in done.stdout
    assert "zero_force is NOT sound: forces_match_energy." in done.stdout
