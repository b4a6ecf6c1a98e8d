"""`assay score`: the scores of a results folder without any model, as a table, CSV and JSON."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from assay.benchmarks.registry import registered_benchmarks
from assay.elements import SYMBOLS
from commands import Done, command, document

BENCHMARK_KEYS = {"name", "version", "score", "stderr", "coverage", "metrics", "cases"}
METRIC_KEYS = {"name", "value", "stderr", "unit", "threshold", "score", "coverage", "ideal", "tolerance_range"}
CASE_KEYS = {"id", "status", "values", "stderr", "tolerances", "elements", "score", "reason", "cause", "unresolved"}
CHECKS = {name: kind for name, kind in registered_benchmarks().items() if name.startswith("verification.")}


def test_score_needs_no_model(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(
        "from assay.sabotage.sound import SoundPotential\nclass Mine(SoundPotential):\n    claims = ('Cu',)\n"
    )
    done = command("run", "model.py:Mine", "-b", "rotation_invariance", "-j", "0", "--json", where=tmp_path)
    model.unlink()
    again = command("score", "results", "-b", "rotation_invariance", "--json", where=tmp_path)
    assert again.returncode == 0, again.stderr
    assert document(again.stdout) == document(done.stdout)


def test_score_document_has_the_keys_of_the_contract(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    done = command("score", "results", "--json", where=where)
    found = document(done.stdout)
    assert found["suite"] == "smoke"
    (model,) = found["models"]
    assert {"name", "score", "stderr", "coverage", "categories", "benchmarks"} <= set(model)
    keys = {"score", "stderr", "coverage", "benchmark_coverage", "passed"}
    assert all(set(category) == keys for category in model["categories"].values())
    assert [b["name"] for b in model["benchmarks"]] == list(CHECKS)
    for benchmark in model["benchmarks"]:
        assert set(benchmark) >= BENCHMARK_KEYS
        assert all(set(metric) == METRIC_KEYS for metric in benchmark["metrics"])
        assert benchmark["cases"]
        assert all(set(case) == CASE_KEYS for case in benchmark["cases"])
        assert all(set(case["elements"]) <= set(SYMBOLS) for case in benchmark["cases"])
        assert len(benchmark["cases"]) == benchmark["coverage"][1]
    assert {"Cu"} in [set(case["elements"]) for benchmark in model["benchmarks"] for case in benchmark["cases"]]
    certificate = model["categories"]["verification"]
    assert (certificate["score"], certificate["passed"], model["passed"]) == (None, True, True)
    assert model["score"] is None, "sound code alone is no score"
    assert {gap["why"] for gap in model["gaps"]} == {"not run"}
    assert [gap["benchmark"] for gap in model["gaps"]] == model["missing"]
    assert {name.partition(".")[0] for name in model["missing"]} == {"physicality", "molecules", "general"}
    assert found["comparison"] is None


def test_score_prints_a_table_and_csv_with_the_same_numbers(
    copper: tuple[Path, Done],
) -> None:
    where, _ = copper
    table = command("score", "results", where=where)
    rows = list(csv.DictReader(io.StringIO(command("score", "results", "--csv", where=where).stdout)))
    assert table.returncode == 0
    assert [row["benchmark"] for row in rows] == list(CHECKS)
    for row in rows:
        line = next(text for text in table.stdout.splitlines() if f" {row['benchmark']} " in text)
        assert ({"1.0": "pass", "0.0": "FAIL"}[row["score"]] if row["score"] else "—") in line


def without_detail(found: dict) -> dict:
    """The document without the detail of its cases, each of which must have one."""
    for model in found["models"]:
        for benchmark in model["benchmarks"]:
            for case in benchmark["cases"]:
                del case["detail"]
    return found


def test_detail_is_added_to_every_case_and_changes_nothing_else(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    plain, detailed = (
        document(command("score", "results", "--json", *more, where=where).stdout) for more in ((), ("--detail",))
    )
    details = [c["detail"] for model in detailed["models"] for b in model["benchmarks"] for c in b["cases"]]
    assert all(isinstance(detail, dict) for detail in details)
    assert any(detail for detail in details)
    assert without_detail(detailed) == plain


def test_a_run_prints_the_same_detail_as_its_scores(tmp_path: Path) -> None:
    model = "assay.sabotage:sound_batch"
    options = ("-b", "diatomics", "--limit", "1", "--json", "--detail")
    done = command("run", model, *options[:4], "-j", "0", *options[4:], where=tmp_path)
    assert done.returncode == 0, done.stderr
    found = document(done.stdout)
    (case,) = found["models"][0]["benchmarks"][0]["cases"]
    assert case["detail"]
    again = command("score", "results", "-b", "diatomics", "--json", "--detail", where=tmp_path)
    assert document(again.stdout) == found


def test_only_the_chosen_benchmarks_are_scored(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    names = ["verification.forces_match_energy", "verification.rotation_invariance"]
    chosen = ("-b", "rotation_invariance", "-b", "forces_match_energy")
    (model,) = document(command("score", "results", "--json", *chosen, where=where).stdout)["models"]
    assert sorted(b["name"] for b in model["benchmarks"]) == names
    rows = list(csv.DictReader(io.StringIO(command("score", "results", "--csv", *chosen, where=where).stdout)))
    assert sorted(row["benchmark"] for row in rows) == names
    (whole,) = document(command("score", "results", "--json", "-b", "verification", where=where).stdout)["models"]
    assert [b["name"] for b in whole["benchmarks"]] == list(CHECKS)


def test_the_composite_of_the_paper_counts_n_of_fourteen(tmp_path: Path) -> None:
    chosen = ("-b", "tautomers", "-b", "reactivity_tst", "-b", "noncovalent_interactions", "--limit", "2")
    done = command("run", "emt", *chosen, "-j", "0", where=tmp_path)
    assert done.returncode == 0, done.stderr
    table = command("score", "results", "--composite", "paper", where=tmp_path).stdout
    assert re.search(r"│ Tautomers +│ +missing elements │", table)
    assert re.search(r"│ Water radial distribution +│ +not available │", table)
    assert re.search(r"│ Dihedral scan +│ +not run │", table)
    assert re.search(r"│ total +│ +— over 0/14 │", table)
    assert "emt, not run: all of verification, all of physicality" in " ".join(table.split())
    (model,) = document(command("score", "results", "--composite", "paper", "--json", where=tmp_path).stdout)["models"]
    composite = model["composite"]
    assert (composite["score"], composite["n"], composite["of"], len(composite["missing"])) == (None, 0, 14, 14)


def test_the_composite_is_not_printed_as_csv(copper: tuple[Path, Done]) -> None:
    where, _ = copper
    refused = command("score", "results", "--composite", "paper", "--csv", where=where)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "leave out --csv" in refused.stderr
    unknown = command("score", "results", "--composite", "papr", where=where)
    assert unknown.returncode == 2
    assert "did you mean 'paper'" in unknown.stderr
