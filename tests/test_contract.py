"""What every benchmark promises, tried on all of them; and the audit of the audit: broken models fail, sound ones pass.

Verdicts of a few models are kept in `golden/`. After a change that is meant to move them, write them anew with

    python tests/test_contract.py

and give the reason in the changelog, under Scores.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from assay.api import Report, check, run
from assay.benchmark import Benchmark
from assay.benchmarks.bases.check import Check
from assay.benchmarks.registry import registered_benchmarks
from assay.data.source import DataSource, open_data
from assay.observation import Observation
from assay.sabotage import BROKEN, SOUND, is_caught
from assay.sabotage.data import write_sound_data
from assay.testing import check_benchmark
from assay.testing.benchmarks import assert_order_does_not_matter

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
NAMES = sorted(registered_benchmarks())
SHORT = {name.partition(".")[2]: name for name in NAMES}
OTHERS = [name for name in NAMES if not issubclass(registered_benchmarks()[name], Check)]
MANDATORY = {
    "species_supported", "periodicity_support", "permutation_symmetry", "translation_invariance",
    "rotation_invariance", "inversion_symmetry", "forces_match_energy", "deterministic", "charge_and_spin_used",
}  # fmt: skip

every_benchmark = pytest.mark.parametrize("name", NAMES)


def build(name: str) -> Benchmark:
    """A benchmark with its own defaults."""
    return registered_benchmarks()[name]()


SCRATCH = tempfile.TemporaryDirectory(prefix="assay-contract-")


@cache
def sound_folder() -> str:
    """References for models of copper and gold: what the sound potential says."""
    return str(write_sound_data(Path(SCRATCH.name)))


@cache
def sound_source() -> DataSource:
    """The same, read."""
    return open_data([sound_folder()])


@every_benchmark
def test_every_benchmark_keeps_its_promises(name: str) -> None:
    check_benchmark(name, data=sound_source())


def test_mandatory_checks_are_those_of_the_contract() -> None:
    assert {name for name, full in SHORT.items() if getattr(build(full), "mandatory", False)} == MANDATORY


@cache
def verified(model: str) -> Report:
    """All checks of a model, computed once for all tests of this file."""
    return check(model, workers=2)


@cache
def measured(model: str) -> Report:
    """All benchmarks of a model that are no checks, computed once for all tests of this file."""
    return run(model, benchmarks=OTHERS, workers=2, data=sound_folder())


GOLDEN_MODELS = (
    "assay.sabotage:sound",
    "assay.sabotage:emt",
    "assay.sabotage:lennard_jones",
    "assay.sabotage:external_field",
    "assay.sabotage:not_rotation_invariant",
    "assay.sabotage:minimum_image_only",
    "assay.sabotage:discontinuous_at_cutoff",
    "assay.sabotage:nan_for_one_species",
)
SOUND_MODELS = (*(f"assay.sabotage:{name}" for name in SOUND), "lj")


@pytest.mark.parametrize("model", dict.fromkeys((*SOUND_MODELS, *GOLDEN_MODELS)))
def test_reports_are_finite_say_what_they_should_and_what_they_said_before(model: str) -> None:
    """All of it in one test, because tests may run in different processes, and a report takes long to make."""
    if model in SOUND_MODELS:
        passes_every_check_that_applies(model)
    if model in GOLDEN_MODELS:
        is_finite_json(verified(model))
        is_finite_json(measured(model))
        for name in NAMES:
            order_of_observations_does_not_matter(name, model)
        gets_what_is_kept(model)


def passes_every_check_that_applies(model: str) -> None:
    report = verified(model)
    assert report.passed
    assert report.exit_code == 0
    for name, verdict in report.checks.items():
        assert verdict["status"] in {"ok", "unsupported"}, f"{name}: {verdict['comment']}"
        assert verdict["evaluated"] > 0 or verdict["status"] == "unsupported"
        assert verdict["refused"] == 0
    skipped = {name for name, verdict in report.checks.items() if verdict["status"] == "unsupported"}
    never = {"unit_conversion", "charge_and_spin_used"}
    assert skipped == never | ({"batch_consistent"} if model != "assay.sabotage:sound_batch" else set())


def order_of_observations_does_not_matter(name: str, model: str) -> None:
    benchmark = build(name)
    report = verified(model) if isinstance(benchmark, Check) else measured(model)
    assert_order_does_not_matter(benchmark, next(b for b in report.result.benchmarks if b.name == name).observations)


def is_finite_json(report: Report) -> None:
    text = json.dumps(report.data, allow_nan=False)
    scores = [b["score"] for b in json.loads(text)["models"][0]["benchmarks"] if b["score"] is not None]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert all(math.isfinite(x) for o in _observations(report) for x in o.values.values())


def _observations(report: Report) -> Iterator[Observation]:
    for benchmark in report.result.benchmarks:
        yield from benchmark.observations


def test_emt_passes_what_is_mandatory_and_its_energy_jumps_for_aluminium() -> None:
    """EMT smooths its cutoff with a function that is not quite zero where the list ends: for Al a step of 1 meV."""
    report = check("emt", workers=2)
    assert report.passed, str(report)
    assert report.exit_code == 0
    smooth = next(b for b in report.result.benchmarks if b.name == "verification.energy_smooth")
    steps = {o.case: o.detail["worst"]["error"] for o in smooth.observations if o.values["error_over_tolerance"] > 1.0}
    assert smooth.verdict is not None
    assert smooth.verdict.status == "failed"
    assert "Al-Al" in steps
    assert 5e-4 < steps["Al-Al"] < 5e-3
    assert all("Al" in case for case in steps)


@pytest.mark.slow
def test_gfn2_xtb_passes_what_is_mandatory() -> None:
    pytest.importorskip("tblite")
    report = check("gfn2-xtb", elements=(1, 6, 8), workers=2)
    assert report.passed, str(report)
    assert report.exit_code == 0
    passed = {name for name, verdict in report.checks.items() if verdict["passed"]}
    assert passed >= MANDATORY - {"periodicity_support"}
    assert report.checks["periodicity_support"]["status"] == "unsupported"
    assert report.checks["periodicity_support"]["evaluated"] == 0


CATCHES = [(name, model) for name in NAMES for model in registered_benchmarks()[name].catches]
CAUGHT = [(SHORT[short], entry.name) for entry in BROKEN.values() for short in entry.caught_by]


def test_both_lists_of_who_catches_what_agree() -> None:
    assert set(CAUGHT) <= set(CATCHES)
    for name, model in set(CATCHES) - set(CAUGHT):
        assert BROKEN[model].caught_by, f"{name} catches {model}, which names nobody"


MEANT = {
    model: sorted({name for name, caught in (*CATCHES, *CAUGHT) if caught == model})
    for model in sorted({model for _, model in (*CATCHES, *CAUGHT)})
}


@pytest.mark.parametrize("model", MEANT)
def test_broken_models_fail_the_checks_that_are_made_for_them(model: str) -> None:
    for name in (name for name in MEANT[model] if name not in OTHERS):
        report = run(f"assay.sabotage:{model}", benchmarks=[name], workers=0)
        verdict = report.checks[name.partition(".")[2]]
        assert verdict["status"] == "failed", f"{name}: {verdict['comment']}"
        assert verdict["passed"] is False, name
        assert verdict["grade"] == "F", name
        assert report.exit_code == (1 if verdict["mandatory"] else 0), name


@pytest.mark.parametrize("model", [model for model, names in MEANT.items() if set(names) & set(OTHERS)])
def test_broken_models_fail_the_benchmarks_that_are_made_for_them(model: str) -> None:
    wanted = [name for name in MEANT[model] if name in OTHERS]
    report = run(f"assay.sabotage:{model}", benchmarks=wanted, workers=0, data=sound_folder())
    assert {result.name for result in report.result.benchmarks} == set(wanted)
    for result in report.result.benchmarks:
        assert is_caught(result.score), (result.name, result.score)
        assert result.score is not None or {o.status for o in result.observations} == {"failed"}, result.name
        assert result.coverage[0] > 0, result.name
        assert not [o.reason for o in result.observations if o.reason.startswith("observing failed")], result.name


@pytest.mark.parametrize("model", ["raises", "constant_energy", "zero_force", "nan_for_one_species"])
def test_models_that_say_nothing_score_nothing(model: str) -> None:
    report = run(f"assay.sabotage:{model}", benchmarks=OTHERS, workers=0, elements=(79,))
    assert {b.name for b in report.result.benchmarks} == set(OTHERS)
    for result in report.result.benchmarks:
        assert not result.score or result.score < 0.1, result.name


def _unseen() -> list[tuple[str, str, tuple[str, ...], str]]:
    """File, name, checks that must fail, and why none does, of every broken potential in the folder `broken`."""
    sys.path.insert(0, str(HERE / "broken"))
    found = []
    stems = ("forces", "symmetry", "periodic", "smoothness", "stress", "state", "claims", "unnoticed")
    for stem in stems:
        for name, kind in vars(importlib.import_module(stem)).items():
            if isinstance(kind, type) and kind.__module__ == stem and getattr(kind, "caught_by", ()):
                found.append((stem, name, kind.caught_by, getattr(kind, "because", "")))
    sys.path.pop(0)
    return found


UNSEEN = [
    pytest.param(
        stem, name, checks, id=f"{stem}-{name}", marks=[pytest.mark.xfail(reason=why, strict=True)] * bool(why)
    )
    for stem, name, checks, why in _unseen()
]


@pytest.mark.parametrize(("stem", "name", "checks"), UNSEEN)
def test_bugs_that_the_checks_were_not_written_for(stem: str, name: str, checks: tuple[str, ...]) -> None:
    # A process that has already freed much memory hides a leak, so memory is watched in a new one.
    workers = 1 if "memory_stable" in checks else 0
    report = run(f"{HERE / 'broken' / stem}.py:{name}", benchmarks=list(checks), workers=workers)
    assert {short: report.checks[short]["status"] for short in checks} == dict.fromkeys(checks, "failed")


UNUSUAL = (
    "SlabStress", "ExtraResults", "NoStress", "PublicMethodsOnly", "RefusesFlatCells", "ChargesAndSpins",
    "ReadsWithoutClaim", "ElectronsMustFit", "sum_of_two",
)  # fmt: skip
MANNERS = (
    "stress_matches_energy", "deterministic", "translation_invariance", "results_follow_ase", "charge_and_spin_used",
    "thread_safe",
)  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_manners_of_sound_models_are_no_faults(name: str) -> None:
    report = run(f"{HERE / 'broken' / 'sound_but_unusual.py'}:{name}", benchmarks=list(MANNERS), workers=0)
    found = {check: report.checks[check]["status"] for check in MANNERS}
    assert {check for check, status in found.items() if status not in {"ok", "unsupported"}} == set(), report
    reads = name in {"ChargesAndSpins", "ReadsWithoutClaim", "ElectronsMustFit"}
    assert found["charge_and_spin_used"] == ("ok" if reads else "unsupported")
    assert (found["stress_matches_energy"] == "ok") == (name not in {"NoStress", "PublicMethodsOnly"})


def golden_path(model: str) -> Path:
    """The file that keeps the verdicts of a model."""
    return GOLDEN / f"{model.partition(':')[2]}.json"


def golden(report: Report) -> dict[str, dict[str, object]]:
    """What is kept of checks: status, pass and, where it does not hang on the last bits of rounding, the letter."""
    return {
        name: {
            "status": v["status"],
            "passed": v["passed"],
            "grade": v["grade"] if v["grade"] in {"F", None} else "pass",
        }
        for name, v in report.checks.items()
    }


def golden_scores(report: Report) -> dict[str, float | None]:
    """Scores of benchmarks that are no checks, to two digits."""
    return {b.name: None if b.score is None else round(b.score, 2) for b in report.result.benchmarks}


def gets_what_is_kept(model: str) -> None:
    """The verdicts and scores in `golden/`."""
    kept = json.loads(golden_path(model).read_text(encoding="utf-8"))
    assert golden(verified(model)) == kept["checks"]
    found = golden_scores(measured(model))
    assert found.keys() == kept["scores"].keys()
    for name, score in kept["scores"].items():
        assert found[name] == (None if score is None else pytest.approx(score, abs=0.02)), name


def write_golden() -> None:
    """Write the verdicts of all golden models anew."""
    GOLDEN.mkdir(exist_ok=True)
    for model in GOLDEN_MODELS:
        text = json.dumps({"checks": golden(verified(model)), "scores": golden_scores(measured(model))}, indent=1)
        golden_path(model).write_text(f"{text}\n", encoding="utf-8")
        print(f"{golden_path(model).name} is written")


if __name__ == "__main__":
    write_golden()
