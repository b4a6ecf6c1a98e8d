"""`assay check`: verdicts as JSON, table, text and JUnit file, and the exit code."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from assay.benchmarks.registry import registered_benchmarks
from assay.cli.checking import check_name
from commands import BROKEN, Done, command, document

CHECK_KEYS = {
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "comment",
}  # fmt: skip
CHECKS = {name: kind for name, kind in registered_benchmarks().items() if name.startswith("verification.")}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("rotation_invariance", "verification.rotation_invariance"),
        ("verification.rotation_invariance", "verification.rotation_invariance"),
        ("verification", "verification"),
        ("mine.py:Lattice", "mine.py:Lattice"),
    ],
)
def test_the_category_of_a_check_may_be_left_out(given: str, name: str) -> None:
    assert check_name(given) == name


def test_a_whole_category_may_be_named(tmp_path: Path) -> None:
    done = command("check", "lj", "-j", "0", "-b", "verification", "--dry-run", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(document(done.stdout)["dry_run"][0]["benchmarks"]) == set(CHECKS)


def test_check_prints_one_json_document_with_the_keys_of_the_contract(
    copper: tuple[Path, Done],
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


def test_junit_file_has_one_case_for_each_check(copper: tuple[Path, Done]) -> None:
    where, done = copper
    suite = ElementTree.parse(where / "junit.xml").getroot()
    names = [case.get("name") for case in suite.iter("testcase")]
    checks = document(done.stdout)["checks"]
    assert names == [check["name"] for check in checks]
    assert int(suite.get("skipped", "-1")) == sum(check["status"] == "unsupported" for check in checks)
    failed = [check for check in checks if check["status"] == "failed" and check["mandatory"]]
    assert int(suite.get("failures", "-1")) == len(failed)


def test_written_configurations_are_read_back_by_ase(copper: tuple[Path, Done]) -> None:
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


def test_text_report_has_every_check_and_configuration(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    done = command("check", "emt", "--elements", "Cu", "-j", "0", "--text", where=where)
    assert done.returncode == 0
    for name in CHECKS:
        assert f"Check {name}, version" in done.stdout
    phrases = ("Grade          : A", "Cu-TTF", "Tolerance      : ", "evaluated, 0 refused", "passes all 8 mandatory")
    for phrase in phrases:
        assert phrase in done.stdout


def test_table_says_pass_and_names_the_mandatory_checks(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    done = command("check", "emt", "--elements", "Cu", "-j", "0", where=where)
    assert "emt passes all 8 mandatory checks" in done.stdout
    for name, kind in CHECKS.items():
        assert name.partition(".")[2] + ("*" if getattr(kind, "mandatory", False) else " ") in done.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_model_that_prints_does_not_spoil_json(tmp_path: Path, workers: str) -> None:
    talkative = f"{BROKEN / 'talkative.py'}:Talkative"
    done = command("check", talkative, "-j", workers, "-b", "inversion_symmetry", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert document(done.stdout)["passed"] is True


EXITS = [
    ("assay.sabotage:sound_batch", "forces_match_energy", 0),
    ("assay.sabotage:zero_force", "forces_match_energy", 1),
    ("assay.sabotage:raises", "species_supported", 1),
    ("assay.sabotage:nan_for_one_species", "species_supported", 1),
    ("assay.sabotage:external_field", "net_force_zero", 0),  # failed, but not mandatory
    ("assay.sabotage:kills_process", "forces_match_energy", 3),
]


def test_a_failed_graded_check_fails_only_where_it_is_asked_for(tmp_path: Path) -> None:
    shared = ("check", "assay.sabotage:external_field", "-b", "net_force_zero", "-j", "0", "-o", tmp_path / "results")
    for fail_on, code in (("mandatory", 0), ("graded", 1)):
        file = tmp_path / f"{fail_on}.xml"
        done = command(*shared, "--fail-on", fail_on, "--junit", file, where=tmp_path)
        assert done.returncode == code, done.stderr
        assert ElementTree.parse(file).getroot().get("failures") == str(code)
        _, found, end = done.stdout.partition("1 graded check failed: net_force_zero")
        assert found
        assert "FAIL net_force_zero: fails for" in end


@pytest.mark.parametrize("width", [60, 80, 200])
def test_reasons_are_whole_in_a_terminal_of_any_width(tmp_path: Path, width: int) -> None:
    shared = ("check", "assay.sabotage:zero_force", "-b", "forces_match_energy", "-j", "0")
    comment = document(command(*shared, "--json", where=tmp_path).stdout)["checks"][0]["comment"]
    done = command(*shared, where=tmp_path, columns=width)
    assert max(map(len, done.stdout.splitlines())) <= width
    assert "…" not in done.stdout
    assert " ".join(done.stdout.split()).endswith(f"FAIL forces_match_energy: {comment}")


@pytest.mark.parametrize(("model", "check", "code"), EXITS, ids=[f"{model} {check}" for model, check, _ in EXITS])
def test_exit_code_of_a_check(tmp_path: Path, model: str, check: str, code: int) -> None:
    done = command("check", model, "-b", check, "-j", "1", "--timeout", "2", "--json", where=tmp_path)
    assert done.returncode == code, done.stderr
    assert document(done.stdout)["passed"] is (model == "assay.sabotage:sound_batch")
