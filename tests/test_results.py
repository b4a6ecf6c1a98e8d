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
from assay.benchmark import Case, Scope, observe_case, planned_cases
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual
from assay.benchmarks.registry import registered_benchmarks
from assay.benchmarks.verification.net_force_zero import NetForceZero
from assay.errors import Cause
from assay.gaps import Why
from assay.model import ModelCard
from assay.observation import Observation
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point, pack_points
from assay.report.document import score_document
from assay.results import BenchmarkResult, ModelResult, read_results
from assay.score import soft_threshold
from assay.store import Store, codec, open_stores
from assay.suites import choose_suite, load_suite
from assay.survey import Survey
from verdicts import benchmark, result, verdict

CHECKS = [kind for kind in registered_benchmarks().values() if issubclass(kind, Check)]
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
    """Write another outcome of the job of a case in place of the one it has."""
    forget(store, {key_of(store, case)})
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
    assert whole.passed
    assert "verification.batch_consistent" not in [gap.benchmark for gap in whole.missing]


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
    assert len(names) == len(CHECKS) - 1


@pytest.mark.parametrize("changes", [{"version": 99}, {"fingerprint": "of another model"}])
def test_results_of_another_version_or_model_are_left_out_and_told(store: Store, changes: dict[str, object]) -> None:
    path = store.folder / "cases" / f"{NET_FORCE}.json"
    path.write_text(codec.dumps({**codec.loads(path.read_text()), **changes}))
    found = read_results(Store(store.folder), load_suite("smoke"))
    assert len(found.benchmarks) == len(CHECKS) - 1
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
    suite = choose_suite("smoke", ("verification",))
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
    assert len(mandatory) == sum(check.mandatory for check in CHECKS)
    assert not ModelResult("m", optional).passed
    assert not ModelResult("m", []).passed
    assert ModelResult("m", [b for b in mandatory if b.verdict is not None and b.verdict.passed][:1]).passed


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


def test_verification_is_a_certificate_and_enters_no_mean(sound_report: Report, broken_report: Report) -> None:
    for report, passed in ((sound_report, True), (broken_report, False)):
        result = report.result
        assert (report.score, result.score, result.coverage, result.benchmark_coverage) == (
            None, (None, None), (0, 0), (0, 0)
        )  # fmt: skip
        (category,) = result.categories
        assert (category.name, category.score, category.stderr, category.passed) == ("verification", None, None, passed)
        judged = sum(verdict.passed is not None for verdict in result.verdicts)
        assert category.benchmark_coverage == (judged, len(CHECKS))
        assert judged < len(CHECKS), "there are no batches and no other units"
        assert category.coverage == tuple(np.sum([b.coverage for b in result.benchmarks], axis=0))


def scored(name: str, *scores: float | None) -> BenchmarkResult:
    """A benchmark by hand; a case without a score is unsupported."""
    return benchmark(name, {f"case{i}": score for i, score in enumerate(scores)})


def test_a_category_is_the_mean_of_benchmarks_and_a_model_the_mean_of_categories() -> None:
    perfect = verdict("verification.net_force_zero")
    model = ModelResult(
        "m",
        [
            *result(perfect).benchmarks,
            scored("physicality.a", 0.2, 0.4),  # 0.3 ± 0.1
            scored("physicality.b", 0.9, 0.9, 0.9),  # 0.9 ± 0
            scored("physicality.c", 0.6),  # one case: no error
            scored("molecules.d", 0.0, 0.4, None),  # 0.2 ± 0.2
            replace(scored("general.times", None), scored=False),
        ],
    )
    verification, physicality, molecules, general = model.categories
    assert (verification.score, verification.passed) == (None, True)
    assert physicality.score == pytest.approx((0.3 + 0.9 + 0.6) / 3)
    assert physicality.stderr == pytest.approx(0.1 / 3)
    assert (physicality.benchmark_coverage, physicality.coverage, physicality.passed) == ((3, 3), (6, 6), None)
    assert (molecules.score, molecules.stderr) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (molecules.benchmark_coverage, molecules.coverage) == ((1, 1), (2, 3))
    assert (general.score, general.benchmark_coverage) == (None, (0, 0))
    assert model.score == (pytest.approx(0.4), pytest.approx(np.hypot(0.1 / 3, 0.2) / 2))
    assert (model.benchmark_coverage, model.coverage, model.missing) == ((4, 4), (8, 9), [])


def test_what_is_missing_is_listed_with_its_reason(store: Store) -> None:
    (store.folder / "cases" / f"{NET_FORCE}.json").unlink()
    path = store.folder / "cases" / "verification.deterministic.json"
    path.write_text(codec.dumps({**codec.loads(path.read_text()), "version": 99}))
    forget(store, {key_of(store, "Cu-cluster", "verification.rotation_invariance")})
    model = read_results(Store(store.folder), choose_suite("smoke", ("verification", "molecules", "general")))
    why = {gap.benchmark: gap.why for gap in model.missing}
    assert why[NET_FORCE] == Why.NOT_RUN
    assert why["verification.deterministic"] == Why.OUTDATED
    assert why["verification.rotation_invariance"] == Why.NOT_FINISHED
    assert {name: w for name, w in why.items() if name.startswith("molecules.")} == {
        name: Why.NOT_RUN for name in registered_benchmarks() if name.startswith("molecules.")
    }
    assert why["general.stability"] == Why.NOT_RUN
    assert "general.inference_scaling" not in why  # it never has a score
    assert len(why) == 3 + 9 + 2
    assert (model.score[0], model.benchmark_coverage) == (None, (0, 11))


@pytest.mark.parametrize(
    ("observations", "why"),
    [
        ([Observation("a", OK), Observation("b", ERROR, reason="the worker died")], Why.NOT_FINISHED),
        ([Observation("a", UNSUPPORTED, cause=Cause.ELEMENTS)], Why.NOT_SUPPORTED),
        ([Observation("nothing", UNSUPPORTED, cause=Cause.NO_DATA)], Why.NO_DATA),
        ([Observation("a", UNSUPPORTED), Observation("b", OK)], Why.NOT_SCORED),
    ],
)
def test_a_benchmark_without_a_score_lowers_no_mean(observations: list[Observation], why: Why) -> None:
    scores = [None] * len(observations)
    lost = BenchmarkResult("molecules.x", 1, None, None, (0, 2), [], observations, scores)
    model = ModelResult("m", [scored("molecules.y", 0.5), lost])
    assert (model.score, model.benchmark_coverage) == ((0.5, None), (1, 2))
    assert [(gap.benchmark, gap.why) for gap in model.missing] == [("molecules.x", why)]


def test_records_say_why_they_are_not_supported() -> None:
    copper = Survey(ModelCard("m", elements=(29,)))
    neutral = Survey(ModelCard("m", elements=(1, 6, 7, 8, 9, 16, 17), charge=False))
    tautomers = registered_benchmarks()["molecules.tautomers"]()
    assert {case.cause for case in planned_cases(tautomers, Scope(copper))} == {Cause.ELEMENTS}
    ions = [case for case in planned_cases(tautomers, Scope(neutral)) if case.unsupported]
    assert ions
    assert {case.cause for case in ions} == {Cause.CHARGE}
    assert {observe_case(tautomers, case, {}).cause for case in ions} == {Cause.CHARGE}


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
