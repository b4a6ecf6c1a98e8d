"""Runs in which something goes wrong: they end, what was finished is kept, and the exit code says what it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from commands import LONGEST, heed_ctrl_c

MACHINE = Path(__file__).parent / "broken" / "machine.py"
SMALL = ("rotation_invariance", "periodicity_support", "forces_match_energy")
OPTIONS = [part for name in SMALL for part in ("-b", name)]


def assay(*arguments: object) -> list[str]:
    """The command as a list of words."""
    return [sys.executable, "-m", "assay", *map(str, arguments)]


def environment() -> dict[str, str]:
    """One thread a process, so that runs of the same work give the same bits."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def finish(*arguments: object, where: Path) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    return subprocess.run(
        assay(*arguments), cwd=where, env=environment(), capture_output=True, text=True, timeout=LONGEST, check=False
    )


def start(*arguments: object, where: Path) -> subprocess.Popen[str]:
    """Run without waiting, in a process group of its own."""
    return subprocess.Popen(
        assay(*arguments),
        cwd=where,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )


def rows(results: Path) -> list[dict]:
    """All outcomes that are wholly written, in no order."""
    texts = [text for path in results.glob("*/outcomes/*.jsonl") for text in path.read_text().split("\n")[:-1]]
    return [json.loads(text) for text in texts]


def wait_for(count: int, results: Path, process: subprocess.Popen[str]) -> None:
    """Wait until so many outcomes are there, while the process is still at work."""
    end = time.monotonic() + LONGEST
    while len(rows(results)) < count:
        assert process.poll() is None, "the run ended before it could be disturbed"
        assert time.monotonic() < end, "the run makes no progress"
        time.sleep(0.01)


def finished(results: Path) -> dict[str, object]:
    """When each job that went well was finished."""
    return {row["key"]: row["provenance"]["finished"] for row in rows(results) if row["status"] == "ok"}


def scores(results: Path) -> dict:
    """What `assay score --json` says."""
    done = finish("score", results, "--json", where=results.parent)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, dict]:
    """The checks in what `assay check --json` printed, by their short names."""
    return {check["name"].partition(".")[2]: check for check in json.loads(done.stdout)["checks"]}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of a slow model that was left in peace."""
    where = tmp_path_factory.mktemp("undisturbed")
    done = finish("check", f"{MACHINE}:slow", *OPTIONS, "-j", 2, where=where)
    assert done.returncode == 0, done.stderr
    return where / "results"


@pytest.mark.parametrize(
    ("factory", "status", "code", "reason"),
    [
        ("raises", "failed", 1, "RuntimeError: this model has a bug"),
        ("leaves", "failed", 1, "SystemExit: 5"),
        ("answers_nan", "failed", 1, "returned the energy nan"),
        ("hangs", "error", 3, "used no CPU time and gave no answer for 1 s"),
        ("dies", "error", 3, "signal SIGKILL"),
        ("runs_out_of_memory", "error", 3, "out of memory"),
        ("interrupts", "error", 3, "KeyboardInterrupt"),
    ],
)
def test_a_model_that_never_answers(tmp_path: Path, factory: str, status: str, code: int, reason: str) -> None:
    model = f"{MACHINE}:{factory}"
    done = finish("check", model, *OPTIONS, "-b", "species_supported", "--timeout", 1, "--json", where=tmp_path)
    assert done.returncode == code, done.stderr
    found = checks(done)
    assert json.loads(done.stdout)["passed"] is False
    assert found["species_supported"]["status"] == status
    assert reason in found["species_supported"]["comment"]
    assert {check["status"] for check in found.values()} <= {status, "unsupported"}
    assert all(check["evaluated"] == 0 or name == "species_supported" for name, check in found.items())


@pytest.mark.parametrize(("factory", "status"), [("answers_nan_for_gold", "failed"), ("dies_on_gold", "error")])
def test_a_model_that_knows_one_of_its_two_species(tmp_path: Path, factory: str, status: str) -> None:
    done = finish("check", f"{MACHINE}:{factory}", *OPTIONS, "-b", "species_supported", "--json", where=tmp_path)
    assert done.returncode == (1 if status == "failed" else 3), done.stderr
    found = checks(done)
    assert found["species_supported"]["status"] == status
    assert "Au" in found["species_supported"]["comment"]
    assert found["species_supported"]["evaluated"] == (2 if status == "failed" else 1)
    assert all(found[name]["evaluated"] >= 2 for name in SMALL), "copper is checked all the same"


def test_nan_for_alloys_fails_although_each_species_is_sound(tmp_path: Path) -> None:
    done = finish("check", f"{MACHINE}:answers_nan_for_alloys", *OPTIONS, "--json", where=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "CuAu" in checks(done)["rotation_invariance"]["comment"]
    assert checks(done)["rotation_invariance"]["evaluated"] == 4


def test_refused_alloys_are_told_and_fail_no_check_that_does_not_apply(tmp_path: Path) -> None:
    others = ("-b", "batch_consistent", "-b", "unit_conversion")
    done = finish("check", f"{MACHINE}:refuses_alloys", *OPTIONS, *others, "-j", 0, "--json", where=tmp_path)
    assert done.returncode == 0, done.stderr
    found = checks(done)
    for name in SMALL:
        assert found[name]["status"] == "ok"
        assert found[name]["refused"] > 0
        assert "CuAu" in found[name]["comment"]
    assert {found[name]["status"] for name in ("batch_consistent", "unit_conversion")} == {"unsupported"}


@pytest.mark.parametrize("factory", ["dies_on_gold_clusters", "hangs_on_gold_clusters"])
def test_a_species_whose_structures_are_lost_is_not_passed_over(tmp_path: Path, factory: str) -> None:
    done = finish("check", f"{MACHINE}:{factory}", *OPTIONS, "--timeout", 2, "--json", where=tmp_path)
    assert done.returncode == 3, done.stdout
    for check in checks(done).values():
        assert check["status"] == "error"
        assert check["evaluated"] >= 4, "copper and the alloy are kept"
        assert "not finished for Au" in check["comment"]


@pytest.mark.parametrize(
    ("factory", "reason"),
    [pytest.param("hangs_on_crowds", "no answer", marks=pytest.mark.slow), ("crashes_on_crowds", "SIGSEGV")],
)
def test_only_the_case_that_kills_the_worker_is_lost(tmp_path: Path, factory: str, reason: str) -> None:
    model = f"{MACHINE}:{factory}"
    done = finish("check", model, *OPTIONS, "-b", "energy_smooth", "--timeout", 2, "--json", where=tmp_path)
    assert done.returncode == 3, done.stderr
    found = checks(done)
    assert found["energy_smooth"]["status"] == "error"
    assert found["energy_smooth"]["passed"] is None
    assert reason in found["energy_smooth"]["comment"]
    assert all(found[name]["status"] == "ok" for name in SMALL)
    (model_scores,) = scores(tmp_path / "results")["models"]
    smooth = next(b for b in model_scores["benchmarks"] if b["name"] == "verification.energy_smooth")
    lost = {case["id"] for case in smooth["cases"] if case["status"] == "error"}
    assert lost == {"Cu-cluster12", "CuAu-cluster12"}
    assert sum(case["status"] == "ok" for case in smooth["cases"]) == len(smooth["cases"]) - 2 > 3
    assert smooth["score"] is None, "a benchmark with an error has no score until it is run again"
    errors = Counter(row["status"] for row in rows(tmp_path / "results"))["error"]
    assert errors == 2 + 2, "two cases, and the questions how long so many atoms take, in all and in this check"


def test_nan_after_some_calls_fails_and_keeps_what_came_before(tmp_path: Path) -> None:
    done = finish("check", "assay.sabotage:nan_after", "-j", 1, "--json", where=tmp_path)
    assert done.returncode == 1, done.stderr
    found = checks(done)
    assert any(check["status"] == "failed" and "nan" in check["comment"] for check in found.values())
    assert "error" not in {check["status"] for check in found.values()}
    failed = [row for row in rows(tmp_path / "results") if row["status"] == "failed" and "nan" in row["reason"]]
    assert failed
    assert all("Traceback (most recent call last)" in row["traceback"] for row in failed)
    assert any(row["status"] == "ok" for row in rows(tmp_path / "results"))


@pytest.mark.parametrize("when", [40, 123], ids=["while elements are asked for", "while benchmarks run"])
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, undisturbed: Path, when: int) -> None:
    results = tmp_path / "results"
    arguments = ("check", f"{MACHINE}:slow", *OPTIONS, "-j", 2)
    process = start(*arguments, where=tmp_path)
    wait_for(when, results, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = finished(results)
    assert len(kept) < len(finished(undisturbed))
    again = finish(*arguments, where=tmp_path)
    assert again.returncode == 0, again.stderr
    after = finished(results)
    assert {key: after[key] for key in kept} == kept
    assert max(Counter(row["key"] for row in rows(results) if row["status"] == "ok").values()) == 1
    assert after.keys() == finished(undisturbed).keys()
    assert scores(results) == scores(undisturbed)


def test_when_only_the_main_process_is_killed_its_workers_end(tmp_path: Path) -> None:
    process = start("check", f"{MACHINE}:slow", *OPTIONS, "-j", 2, where=tmp_path)
    wait_for(40, tmp_path / "results", process)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.kill()
    process.wait()
    gone, alive = psutil.wait_procs(workers, timeout=LONGEST)
    assert alive == []
    assert len(gone) == len(workers)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_worker_inside_compiled_code_ends_with_the_main_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "sleeping"
    monkeypatch.setenv("SLEEPING", str(marker))
    process = start("check", f"{MACHINE}:sleeps_in_compiled_code", *OPTIONS, "-j", 1, where=tmp_path)
    while not marker.exists():
        assert process.poll() is None
        time.sleep(0.05)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert psutil.wait_procs(workers, timeout=LONGEST)[1] == []


@pytest.mark.usefixtures("ctrl_c_is_ignored")
@pytest.mark.parametrize("whole_group", [True, False], ids=["from the terminal", "to the main process alone"])
def test_ctrl_c_keeps_what_is_done_and_leaves_no_worker(tmp_path: Path, undisturbed: Path, whole_group: bool) -> None:
    results = tmp_path / "results"
    arguments = ("check", f"{MACHINE}:slow", *OPTIONS, "-j", 2)
    process = start(*arguments, where=tmp_path)
    wait_for(40, results, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=LONGEST)
    assert process.returncode == 130
    assert output == ""
    assert errors == "assay: stopped; finished jobs are kept, run the same command to continue\n"
    assert psutil.wait_procs(workers, timeout=LONGEST)[1] == []
    kept = finished(results)
    assert kept
    assert finish(*arguments, where=tmp_path).returncode == 0
    after = finished(results)
    assert {key: after[key] for key in kept} == kept
    assert scores(results) == scores(undisturbed)


def test_a_torn_last_line_is_passed_over_and_said_so(tmp_path: Path, undisturbed: Path) -> None:
    results = tmp_path / "results"
    arguments = ("check", f"{MACHINE}:slow", *OPTIONS, "-j", 1)
    assert finish(*arguments, where=tmp_path).returncode == 0
    (path,) = results.glob("*/outcomes/*.jsonl")
    text = path.read_bytes()
    path.write_bytes(text[: len(text) - 200])
    torn = json.loads(text.splitlines()[-1])["key"]
    again = finish(*arguments, where=tmp_path)
    assert again.returncode == 0
    assert "torn or damaged" in again.stderr
    assert torn in finished(results)
    damaged, sound = scores(results), scores(undisturbed)
    assert damaged["models"][0].pop("warnings") != []
    assert sound["models"][0].pop("warnings") == []
    assert damaged == sound


def test_a_finished_check_runs_nothing_again(tmp_path: Path) -> None:
    arguments = ("check", f"{MACHINE}:slow", "-b", "rotation_invariance", "-j", 0, "--json")
    first = finish(*arguments, where=tmp_path)
    before = rows(tmp_path / "results")
    second = finish(*arguments, where=tmp_path)
    assert (first.returncode, second.returncode) == (0, 0)
    assert rows(tmp_path / "results") == before
    assert json.loads(second.stdout) == json.loads(first.stdout)


def test_a_lost_case_is_run_again_and_then_counts(tmp_path: Path) -> None:
    """The model is repaired outside of its file, so that its fingerprint stays and only errors are repeated."""
    (tmp_path / "model.py").write_text(
        "import os, signal, pathlib\n"
        "from assay.sabotage.sound import SoundPotential\n"
        "class Mine(SoundPotential):\n"
        "    claims = ('Cu',)\n"
        "    def evaluate(self, atoms):\n"
        "        if len(atoms) == 12 and pathlib.Path(__file__).with_name('broken').exists():\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return super().evaluate(atoms)\n"
    )
    (tmp_path / "broken").touch()
    arguments = ("check", "model.py:Mine", "-b", "energy_smooth", "-j", 1, "--json")
    first = finish(*arguments, where=tmp_path)
    kept = finished(tmp_path / "results")
    (tmp_path / "broken").unlink()
    second = finish(*arguments, where=tmp_path)
    assert (first.returncode, second.returncode) == (3, 0)
    assert checks(first)["energy_smooth"]["status"] == "error"
    assert checks(second)["energy_smooth"]["status"] == "ok"
    after = finished(tmp_path / "results")
    assert {key: after[key] for key in kept} == kept
    assert len(after) == len(kept) + 3, "the case, and how long so many atoms take, in all and in this check"


def test_another_version_of_the_model_file_is_another_model(tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    text = "from assay.sabotage.sound import SoundPotential\nclass Mine(SoundPotential):\n    claims = ('Cu',)\n"
    for version in (text, f"{text}\n# changed\n"):
        model.write_text(version)
        assert finish("check", "model.py:Mine", "-b", "net_force_zero", "-j", 0, where=tmp_path).returncode == 0
    found = Counter(row["key"] for row in rows(tmp_path / "results"))
    assert set(found.values()) == {1}
    assert len(found) > 200, "all elements were asked for twice, since the file may now do something else"


def test_partial_runs_merge(tmp_path: Path) -> None:
    for name in ("rotation_invariance", "inversion_symmetry"):
        assert finish("check", "lj", "-b", name, "-j", 0, where=tmp_path).returncode == 0
    (model,) = scores(tmp_path / "results")["models"]
    names = [f"verification.{name}" for name in ("inversion_symmetry", "rotation_invariance")]
    assert [benchmark["name"] for benchmark in model["benchmarks"]] == names
    assert all(benchmark["score"] == 1.0 for benchmark in model["benchmarks"])


def test_two_runs_at_once_in_one_folder_do_not_hurt_one_another(tmp_path: Path, undisturbed: Path) -> None:
    arguments = ("check", f"{MACHINE}:slow", *OPTIONS, "-j", 1)
    both = [start(*arguments, where=tmp_path) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=LONGEST)
        assert process.returncode == 0, errors
    assert finished(tmp_path / "results").keys() == finished(undisturbed).keys()
    assert scores(tmp_path / "results") == scores(undisturbed)


def test_a_model_that_changes_the_working_directory_does_not_lose_results(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import os, tempfile\n"
        "from assay.sabotage.sound import SoundPotential\n"
        "class Mine(SoundPotential):\n"
        "    claims = ('Cu',)\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        os.chdir(tempfile.gettempdir())\n"
    )
    for workers in (0, 1):
        done = finish("check", "model.py:Mine", "-b", "inversion_symmetry", "-j", workers, "--json", where=tmp_path)
        assert done.returncode == 0, done.stderr
        assert checks(done)["inversion_symmetry"]["evaluated"] == 2
