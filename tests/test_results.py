"""From outcomes to verdicts and scores: nothing is a pass unless something was computed and was right."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.api import Report
from assay.benchmark import Case, Observation, Scope, observe_case, planned_cases
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual
from assay.benchmarks.registry import registered_benchmarks
from assay.benchmarks.verification.net_force_zero import NetForceZero
from assay.errors import Cause
from assay.model import ModelCard
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point, pack_points
from assay.report.document import score_document
from assay.results import BenchmarkResult, ModelResult, read_results
from assay.score import soft_threshold
from assay.store import Store, codec, open_stores
from assay.suites import choose_suite, load_suite
from assay.survey import Survey

NET_FORCE = "verification.net_force_zero"


@pytest.fixture
def store(results: Path) -> Store:
    (found,) = open_stores(results)
    return found


def only(store: Store, name: str = "net_force_zero") -> BenchmarkResult:
    (result,) = read_results(Store(store.folder), choose_suite("smoke", (name,))).benchmarks
    return result


def key_of(store: Store, case: str, benchmark: str = NET_FORCE) -> str:
    rows = {c.id: keys for c, keys in store.read_cases(benchmark)[1]}
    (key,) = rows[case].values()
    return key


def forget(store: Store, keys: set[str]) -> None:
    """Take the outcomes of some jobs out of the store."""
    for path in (store.folder / "outcomes").iterdir():
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if codec.loads(line)["key"] not in keys))


def replace_outcome(store: Store, case: str, status: str, reason: str, values: dict[str, object] | None = None) -> None:
    """Write a newer outcome of the job of a case."""
    store.append(Outcome(key_of(store, case), status, values or {}, reason, provenance={"finished": time.time() + 1e6}))


def point(reason: str = "", force: float = 0.0, cause: str = "") -> dict[str, object]:
    """The values of one structure of six atoms."""
    forces = np.zeros((6, 3))
    forces[0, 0] = force
    return pack_points([Point(-1.0, forces, None, reason, "FFF", cause)], [6])


def test_an_undisturbed_run_is_complete(store: Store) -> None:
    result = only(store)
    assert [o.status for o in result.observations] == [OK, OK]
    assert (result.score, result.coverage, result.missing) == (1.0, (2, 2), 0)
    assert result.verdict is not None
    assert (result.verdict.passed, result.verdict.status, result.verdict.evaluated) == (True, OK, 2)


def test_a_missing_outcome_is_not_run_and_never_zero(store: Store) -> None:
    forget(store, {key_of(store, "Cu-cluster")})
    result = only(store)
    missing, other = result.observations
    assert (missing.status, missing.cause, other.status) == (ERROR, Cause.NOT_RUN, OK)
    assert list(result.case_scores) == [None, 1.0]
    assert (result.score, result.stderr, result.missing) == (None, None, 1)
    assert result.coverage == (1, 2)
    assert result.verdict is not None
    assert (result.verdict.passed, result.verdict.status, result.verdict.grade) == (None, ERROR, None)
    assert "not run" in result.verdict.comment


def test_a_model_with_a_mandatory_check_that_was_not_run_has_not_passed(store: Store) -> None:
    suite = load_suite("smoke")
    assert read_results(Store(store.folder), suite).passed
    forget(store, {key_of(store, "Cu-cluster", "verification.rotation_invariance")})
    result = read_results(Store(store.folder), suite)
    assert not result.passed
    assert not result.has_failure
    assert result.has_error


def test_an_error_of_the_machine_blocks_the_score(store: Store) -> None:
    replace_outcome(store, "Cu-TTT", ERROR, "the worker died (signal SIGKILL)")
    result = only(store)
    assert [o.status for o in result.observations] == [OK, ERROR]
    assert (result.score, result.missing) == (None, 0)
    assert result.verdict is not None
    assert result.verdict.passed is None
    assert "SIGKILL" in result.verdict.comment


def test_a_failed_case_scores_zero(store: Store) -> None:
    replace_outcome(store, "Cu-TTT", FAILED, "refused: ValueError: no", point("refused: ValueError: no"))
    result = only(store)
    assert [o.status for o in result.observations] == [OK, FAILED]
    assert list(result.case_scores) == [1.0, 0.0]
    assert (result.score, result.coverage) == (0.5, (2, 2))
    assert result.verdict is not None
    assert (result.verdict.evaluated, result.verdict.refused, result.verdict.passed) == (1, 1, True)
    assert result.verdict.grade == "D"  # half of the cases were refused
    assert result.metrics[0].score == 0.5


def test_nonsense_from_the_model_is_a_failure_not_a_refusal(store: Store) -> None:
    values = point("words that nobody reads", cause=Cause.NOT_FINITE)
    replace_outcome(store, "Cu-TTT", FAILED, "words that nobody reads", values)
    verdict = only(store).verdict
    assert verdict is not None
    assert (verdict.passed, verdict.status, verdict.grade) == (False, FAILED, "F")
    assert (verdict.evaluated, verdict.refused) == (1, 0)


def test_a_wrong_value_fails_and_is_scored_by_its_size(store: Store) -> None:
    replace_outcome(store, "Cu-cluster", OK, "", point(force=1.8e-5))
    result = only(store)
    wrong = result.observations[0]
    assert wrong.values["error_over_tolerance"] == pytest.approx(3.0)  # tolerance 1e-6 × 6 atoms × 1 eV/Å
    assert result.case_scores[0] == pytest.approx(soft_threshold(3.0, 1.0))
    verdict = result.verdict
    assert verdict is not None
    assert (verdict.passed, verdict.grade, verdict.unit) == (False, "F", "eV/Å")
    assert verdict.error == pytest.approx(1.8e-5)
    assert verdict.tolerance == pytest.approx(6e-6)
    assert verdict.where == "Cu-cluster total: forces"


def test_what_a_model_does_not_claim_is_not_counted(store: Store) -> None:
    result = only(store, "batch_consistent")
    assert [o.status for o in result.observations] == [UNSUPPORTED]
    assert (result.score, result.coverage) == (None, (0, 1))
    assert result.verdict is not None
    assert (result.verdict.passed, result.verdict.skipped) == (None, 1)
    whole = read_results(Store(store.folder), load_suite("smoke"))
    assert whole.score[0] == 1.0
    assert whole.passed


def test_a_model_that_refuses_everything_has_failed(store: Store) -> None:
    for case in ("Cu-cluster", "Cu-TTT"):
        replace_outcome(store, case, FAILED, "refused: ValueError: no", point("refused: ValueError: no"))
    result = only(store)
    assert result.score == 0.0
    assert result.verdict is not None
    assert (result.verdict.passed, result.verdict.grade, result.verdict.status) == (False, "F", FAILED)
    assert (result.verdict.evaluated, result.verdict.refused) == (0, 2)


def test_a_mistake_of_ours_in_one_case_leaves_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    original = NetForceZero.residuals

    def residuals(self: NetForceZero, case: Case, outcomes: dict[str, Outcome]) -> Iterable[Residual]:
        if case.id == "Cu-TTT":
            raise IndexError("a bug")
        return original(self, case, outcomes)

    monkeypatch.setattr(NetForceZero, "residuals", residuals)
    result = only(store)
    assert [o.status for o in result.observations] == [OK, ERROR]
    assert result.observations[1].reason == "observing failed: IndexError: a bug"
    assert result.score is None


def test_a_benchmark_without_cases_in_the_store_is_left_out(store: Store) -> None:
    (store.folder / "cases" / f"{NET_FORCE}.json").unlink()
    names = [b.name for b in read_results(Store(store.folder), load_suite("smoke")).benchmarks]
    assert NET_FORCE not in names
    assert len(names) == 15


@pytest.mark.parametrize("changes", [{"version": 99}, {"fingerprint": "of another model"}])
def test_results_of_another_version_or_model_are_left_out_and_told(store: Store, changes: dict[str, object]) -> None:
    path = store.folder / "cases" / f"{NET_FORCE}.json"
    path.write_text(codec.dumps({**codec.loads(path.read_text()), **changes}))
    found = read_results(Store(store.folder), load_suite("smoke"))
    assert len(found.benchmarks) == 15
    assert NET_FORCE not in [b.name for b in found.benchmarks]
    assert found.warnings == (
        f"the results of {NET_FORCE} belong to another version of it or of the model; run it again",
    )


def test_torn_lines_are_passed_on_to_whoever_reads_the_results(store: Store) -> None:
    (store.folder / "outcomes" / "z.jsonl").write_text('{"key":')
    assert read_results(Store(store.folder), load_suite("smoke")).warnings == (
        "z.jsonl line 1 is torn or damaged and was passed over",
    )


def test_scores_are_the_same_after_the_results_were_moved(sound_report: Report, store: Store) -> None:
    suite = load_suite("smoke")
    assert score_document([read_results(store, suite)], "smoke") == score_document([sound_report.result], "smoke")


def checks() -> list[Check]:
    found = [kind() for kind in registered_benchmarks().values()]
    return [check for check in found if isinstance(check, Check)]


# Everything that a case can end in without a comparison.
not_compared = st.builds(
    lambda status, case, cause: Observation(case, status, {}, "why", cause=cause),
    st.sampled_from([FAILED, UNSUPPORTED, ERROR]),
    st.text(max_size=3),
    st.sampled_from(["", Cause.REFUSED, Cause.NOT_FINITE, Cause.MALFORMED]),
)
each_check = pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)


@each_check
@given(st.lists(not_compared, max_size=5))
def test_a_pass_over_nothing_is_impossible(check: Check, observations: list[Observation]) -> None:
    verdict = check.verdict(observations)
    assert verdict.passed is not True
    assert verdict.status != OK
    assert verdict.grade in (None, "F")
    assert verdict.evaluated == 0
    result = BenchmarkResult(check.name, 1, None, None, (0, 0), [], observations, [], verdict)
    assert not ModelResult("m", [result]).passed


@each_check
def test_a_check_that_compares_nothing_has_failed(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(check), "residuals", lambda self, case, outcomes: [])
    observation = observe_case(check, Case("c", {}, {}), {})
    assert (observation.status, observation.reason) == (FAILED, "nothing was compared")


@each_check
@pytest.mark.parametrize(
    ("survey", "status"),
    [
        (Survey(ModelCard("m", elements=(29,)), refused={29: "no"}), {FAILED, UNSUPPORTED}),
        (Survey(ModelCard("m", elements=())), {FAILED, UNSUPPORTED}),
        (Survey(ModelCard("m", elements=(29,)), lost={29: "hung"}), {FAILED, UNSUPPORTED, ERROR}),
        (Survey(ModelCard("m", elements=(29,)), contact_error="hung"), {ERROR}),
    ],
    ids=["refuses all", "claims nothing", "lost", "no contact"],
)
def test_a_model_that_answers_nothing_passes_nothing(check: Check, survey: Survey, status: set[str]) -> None:
    cases = list(planned_cases(check, Scope(survey)))
    assert cases
    outcomes = Outcome("k", FAILED, {}, "refused: no")
    observations = [observe_case(check, case, dict.fromkeys(case.jobs, outcomes)) for case in cases]
    verdict = check.verdict(observations)
    assert verdict.passed is not True
    assert verdict.status in status


def test_a_model_passes_only_with_a_mandatory_check_that_passed(sound_report: Report) -> None:
    whole = sound_report.result
    assert whole.passed
    assert not whole.has_failure
    optional = [b for b in whole.benchmarks if b.verdict is not None and not b.verdict.mandatory]
    mandatory = [b for b in whole.benchmarks if b not in optional]
    assert len(mandatory) == 8
    assert not ModelResult("m", optional).passed
    assert not ModelResult("m", []).passed
    assert ModelResult("m", mandatory[:1]).passed


@pytest.mark.parametrize(
    ("status", "passed", "verdict"),
    [(UNSUPPORTED, None, True), (ERROR, None, False), (FAILED, False, False), (OK, True, True)],
)
def test_one_mandatory_check_decides(sound_report: Report, status: str, passed: bool | None, verdict: bool) -> None:
    first, *rest = [b for b in sound_report.result.benchmarks if b.verdict is not None and b.verdict.mandatory]
    assert first.verdict is not None
    changed = replace(first, verdict=replace(first.verdict, status=status, passed=passed))
    result = ModelResult("m", [changed, *rest])
    assert result.passed is verdict
    assert result.has_failure is (status == FAILED)


def test_a_broken_model_fails_the_check_for_its_bug(broken_report: Report) -> None:
    assert not broken_report.passed
    assert broken_report.result.has_failure
    verdicts = {v.name.rpartition(".")[2]: v for v in broken_report.result.verdicts}
    assert verdicts["forces_match_energy"].passed is False
    assert "all forces are zero" in verdicts["forces_match_energy"].comment
    assert verdicts["rotation_invariance"].passed is True
    score = broken_report.result.score[0]
    assert score is not None
    assert score < 1.0


def test_the_whole_is_the_mean_of_its_parts(broken_report: Report) -> None:
    result = broken_report.result
    scores = [b.score for b in result.benchmarks if b.score is not None]
    assert result.score[0] == pytest.approx(np.mean(scores))
    assert result.coverage == tuple(np.sum([b.coverage for b in result.benchmarks], axis=0))
    assert {b.category for b in result.benchmarks} == {"verification"}


@pytest.mark.parametrize(
    ("error", "tolerance", "ratio"),
    [
        (2.0, 4.0, 0.5),
        (0.0, 0.0, 0.0),
        (1e-300, 0.0, np.inf),
        (np.nan, 1.0, np.inf),
        (np.inf, 1.0, np.inf),
        (-np.inf, 1.0, np.inf),
    ],
)
def test_an_error_is_measured_in_tolerances(error: float, tolerance: float, ratio: float) -> None:
    assert Residual("here", error, "eV", tolerance, 0.0, "").ratio == ratio


def test_tolerances_follow_precision_size_and_noise() -> None:
    exact, rough = Limits("float64", 0.0, 0.0), Limits("float32", 0.0, 0.0)
    assert exact.energy("", 0.0, 500.0, 6).tolerance == pytest.approx(1e-8 * 500.0)
    assert exact.energy("", 0.0, 0.0, 6).tolerance == pytest.approx(1e-8 * 6.0)  # energies may cancel
    assert rough.energy("", 0.0, 500.0, 6).tolerance == pytest.approx(3e-6 * 500.0)
    assert exact.forces("", 0.0, 30.0).tolerance == pytest.approx(1e-6 * 30.0)
    assert exact.forces("", 0.0, 0.01).tolerance == pytest.approx(1e-6)
    assert rough.forces("", 0.0, 30.0).tolerance == pytest.approx(1e-3 * 30.0)
    noisy = Limits("float64", 1e-4, 2e-4)
    assert noisy.energy("", 0.0, 5.0, 6).tolerance == pytest.approx(1e-3)
    assert noisy.energy("", 0.0, 5.0, 6).floor == pytest.approx(1e-4)
    assert noisy.forces("", 0.0, 5.0).tolerance == pytest.approx(2e-3)
    assert Limits("float64", 1.0, 1.0).energy("", 0.0, 5.0, 6).tolerance == pytest.approx(6e-3)  # noise has its limits
    assert Limits("float64", 1.0, 1.0).forces("", 0.0, 5.0).tolerance == pytest.approx(5e-2)
    assert noisy.energy("", 0.0, 5.0, 6, tight=0.01).tolerance == pytest.approx(1e-8 * 6.0 * 0.01)  # noise is no excuse
