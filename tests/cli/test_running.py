"""`assay run`: several models, limits, dry runs, and exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.model import Model
from assay.models.registry import NamedModel
from commands import BROKEN, QUICK, command, document
from faulty import MACHINE


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
    for key, total in (("jobs", "jobs_missing"), ("force_calls", "force_calls")):
        assert sum(cost[key] for cost in row["costs"]) == row[total]
    assert sum(cost["seconds"] for cost in row["costs"]) + row["start_seconds"] == pytest.approx(row["cpu_seconds"])
    assert row["start_seconds"] > 0.0, "two workers load the model"
    assert all(cost["seconds"] > 0.0 and cost["extrapolated"] is False for cost in row["costs"])
    assert costs["memory_stable"]["seconds"] <= 10.0, "it keeps to its time"
    assert row["workers"] == 2
    assert 0.5 * row["cpu_seconds"] <= row["clock_seconds"] <= row["cpu_seconds"]
    assert {pace["periodic"] for pace in row["pace"]} == {True, False}
    assert all(pace["seconds"] > 0.0 and pace["atoms"] >= 1 for pace in row["pace"])
    assert all(pace["seconds_together"] <= pace["seconds"] for pace in row["pace"])


@pytest.mark.parametrize(
    ("factory", "why"),
    [("hangs", "used no CPU time and gave no answer for 1 s"), ("dies", "the worker died (signal SIGKILL)")],
)
def test_dry_run_without_an_estimate_says_why_and_ends_with_3(tmp_path: Path, factory: str, why: str) -> None:
    arguments = ("run", f"{MACHINE}:{factory}", "-b", "net_force_zero", "-j", "1", "--timeout", "1", "--dry-run")
    done = command(*arguments, where=tmp_path)
    assert done.returncode == 3
    assert "the time could not be estimated" in done.stdout
    assert why in done.stdout
    again = command(*arguments, "--json", where=tmp_path)
    (row,) = document(again.stdout)["dry_run"]
    assert again.returncode == 3
    assert row["cpu_seconds"] is None
    assert why in row["problem"]


def test_dry_run_that_lost_some_elements_says_so_and_ends_with_3(tmp_path: Path) -> None:
    arguments = ("run", f"{MACHINE}:dies_on_gold", "-b", "net_force_zero", "-j", "1", "--dry-run")
    done = command(*arguments, where=tmp_path)
    assert done.returncode == 3
    assert "not included, because a worker was lost: Au (the worker died (signal SIGKILL))" in done.stdout
    assert "the time could not be estimated" not in done.stdout


def test_a_run_says_how_much_cpu_time_it_used_and_how_much_was_expected(tmp_path: Path) -> None:
    arguments = ("run", "lj", "-b", "net_force_zero", "-j", "1")
    assert re.search(r"[\d.]+ m?s of CPU time used, [\d.]+ m?s expected", command(*arguments, where=tmp_path).stderr)
    assert "of CPU time used" not in command(*arguments, where=tmp_path).stderr, "nothing was left to compute"


def test_dry_run_leaves_finished_results_as_they_are(tmp_path: Path) -> None:
    command("check", "lj", *QUICK, where=tmp_path)
    before = command("score", "results", "--json", where=tmp_path).stdout
    command("check", "lj", *QUICK, "--limit", "1", "--dry-run", where=tmp_path)
    assert command("score", "results", "--json", where=tmp_path).stdout == before


def test_a_limit_of_1_takes_one_case_of_each_benchmark(tmp_path: Path) -> None:
    names = ("rotation_invariance", "periodicity_support")
    arguments = [part for name in names for part in ("-b", name)]
    done = command("run", "lj", *arguments, "--limit", "1", "-j", "0", "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {b["name"]: len(b["cases"]) for b in document(done.stdout)["models"][0]["benchmarks"]}
    assert found == {f"verification.{name}": 1 for name in names}


def test_run_takes_several_models_and_score_shows_them_side_by_side(tmp_path: Path) -> None:
    done = command("run", "lj", "assay.sabotage:sound_batch", *QUICK, where=tmp_path)
    assert done.returncode == 0, done.stderr
    names = [
        model["name"] for model in document(command("score", "results", "--json", where=tmp_path).stdout)["models"]
    ]
    assert sorted(names) == ["assay.sabotage:sound_batch", "lj"]
    assert "lj passes" in done.stdout
    assert "suite smoke" in done.stdout


def test_exit_code_of_a_run_with_a_broken_model_among_sound_ones(tmp_path: Path) -> None:
    done = command("run", "lj", "assay.sabotage:zero_force", "-b", "forces_match_energy", "-j", "0", where=tmp_path)
    assert done.returncode == 1
    assert "lj passes" in done.stdout
    assert "zero_force is NOT sound: forces_match_energy failed (1 of 1 mandatory check)." in done.stdout


def test_a_wrong_name_is_reported_before_the_first_model_is_run(tmp_path: Path) -> None:
    done = command("run", "emt", "gfn3-xtb", "-b", "net_force_zero", "-j", "0", where=tmp_path)
    assert done.returncode == 2
    assert "there is no model 'gfn3-xtb'" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "results").exists()


def test_a_model_that_cannot_be_built_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def build():\n    raise RuntimeError('no weights here')\n")
    options = ("-b", "net_force_zero", "-j", "0")
    done = command("run", "broken.py:build", "emt", *options, where=tmp_path)
    assert done.returncode == 2
    assert "broken.py:build was not run: model 'broken.py:build' cannot be built: RuntimeError" in done.stderr
    assert "emt: verification" in done.stdout
    alone = command("run", "broken.py:build", *options, where=tmp_path)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "cannot be built" in alone.stderr


def test_each_model_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, open_named = list[str](), NamedModel.open

    def counted(self: NamedModel, device: str | None = None) -> Model:
        opened.append(self.card.name)
        return open_named(self, device)

    monkeypatch.setattr(NamedModel, "open", counted)
    arguments = ["run", "lj", "emt", "-b", "net_force_zero", "-j", "0", "-o", str(tmp_path / "results")]
    assert main([*arguments, "--device", "cpu"]) == 0
    assert sorted(opened) == ["emt", "lj"]
