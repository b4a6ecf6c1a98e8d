"""Metrics over cases, with their standard errors, and what happens to cases before a benchmark sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pytest

from assay.benchmark import Benchmark, Case, Scope, observe_case, planned_cases, with_null
from assay.errors import Cause
from assay.jobs import SinglePoints
from assay.model import ModelCard
from assay.observation import Metric, Observation, mean_metric
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome
from assay.structure import Structure
from assay.survey import Survey

LENGTH = Metric("length", "Å", threshold=0.1, ideal=1.0)
JOB = SinglePoints((Structure.build([29], [[0.0, 0.0, 0.0]]),))
SURVEY = Survey(ModelCard("a model"), noise_energy=1e-6, noise_force=1e-5, precision="float32")


def seen(*rows: tuple[float, float | None]) -> list[Observation]:
    """Cases with a length and its standard error."""
    return [Observation(f"c{i}", OK, {"length": v}, stderr={"length": e}) for i, (v, e) in enumerate(rows)]


def test_the_error_of_a_mean_follows_from_the_errors_of_its_cases() -> None:
    found = mean_metric(LENGTH, seen((1.0, 0.3), (1.0, 0.4)))
    assert (found.value, found.stderr) == (1.0, pytest.approx(0.25))  # sqrt(0.09 + 0.16) / 2


def test_cases_that_scatter_more_than_their_errors_say_set_the_error() -> None:
    values = [0.8, 1.2, 1.0, 1.4]
    found = mean_metric(LENGTH, seen(*((v, 1e-6) for v in values)))
    assert found.value == pytest.approx(1.1)
    assert found.stderr == pytest.approx(np.std(values, ddof=1) / 2.0)


def test_one_case_has_the_error_of_its_own_average() -> None:
    assert mean_metric(LENGTH, seen((1.0, 0.02))).stderr == pytest.approx(0.02)
    assert mean_metric(LENGTH, seen((1.0, None))).stderr is None


def test_cases_without_an_error_count_in_the_number_of_cases() -> None:
    assert mean_metric(LENGTH, seen((1.0, 0.3), (1.0, None), (1.0, None))).stderr == pytest.approx(0.1)


def test_the_error_is_the_scatter_of_means_over_many_trials() -> None:
    """Five cases whose averages are off by 0.1 each: the mean is off by 0.1 / sqrt(5)."""
    rng = np.random.default_rng(0)
    trials = [mean_metric(LENGTH, seen(*((v, 0.1) for v in 1.0 + 0.1 * rng.normal(size=5)))) for _ in range(2000)]
    scatter = np.std([trial.value for trial in trials if trial.value is not None])
    assert scatter == pytest.approx(0.1 / sqrt(5.0), rel=0.05)
    assert np.min([trial.stderr or 0.0 for trial in trials]) == pytest.approx(0.1 / sqrt(5.0))


def test_a_metric_that_is_a_score_has_no_threshold() -> None:
    metric = Metric("stability", "1", is_score=True)
    assert metric.score(Observation("a", OK, {"stability": 0.7})) == 0.7
    assert metric.score(Observation("a", OK, {"stability": float("nan")})) == 0.0
    assert metric.score(Observation("a", FAILED)) == 0.0
    assert metric.score(Observation("a", UNSUPPORTED)) is None


def test_a_metric_of_some_cases_leaves_the_others_out() -> None:
    near = replace(LENGTH, cases=("near*", "touching"))
    observations = [
        Observation("near-1", OK, {"length": 1.0}),
        Observation("touching", OK, {"length": 3.0}),
        Observation("far", FAILED),
    ]
    found = mean_metric(near, near.own(observations))
    assert (found.value, found.coverage) == (2.0, (2, 2))
    assert near.own(observations[2:]) == observations[2:], "the one case of a model that never answered"


def test_failed_cases_count_only_where_the_metric_says_so() -> None:
    share = Metric("converged", "1", counts_failed=True)
    observations = [Observation("a", OK, {"converged": 1.0}), Observation("b", FAILED, {"converged": 0.0})]
    assert mean_metric(share, observations).value == 0.5
    assert mean_metric(replace(share, counts_failed=False), observations).value == 1.0


@dataclass(frozen=True)
class Two(Benchmark):
    """Two cases, in two groups."""

    metrics = (replace(LENGTH, by_group=True), Metric("rare", "1", optional=True))
    optional = ("extra",)

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One job each."""
        for name in ("a", "b", "c"):
            yield Case(name, {"job": JOB, "extra": JOB}, {"group": f"group {name}"})

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Always one."""
        return Observation(case.id, OK, {"length": 1.0})


def test_cases_are_limited_and_get_the_noise_of_the_model() -> None:
    made = planned_cases(Two(), Scope(SURVEY), limit=2)
    assert [case.id for case in made] == ["a", "b"]
    noise = {"precision": "float32", "noise_energy": 1e-6, "noise_force": 1e-5}
    assert made[0].context == {"group": "group a", "elements": ["Cu"], **noise}


def test_a_model_that_was_never_reached_has_one_lost_case() -> None:
    (case,) = planned_cases(Two(), Scope(replace(SURVEY, contact_error="no answer within 120 s")))
    found = observe_case(Two(), case, {})
    assert (found.status, found.reason, found.cause) == (ERROR, "no answer within 120 s", Cause.WORKER_LOST)


class Nothing(Two):
    """No case for any model."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        """None."""
        return []


def test_a_benchmark_without_cases_has_one_failed_case_with_the_reason_of_the_model() -> None:
    (case,) = planned_cases(Nothing(), Scope(replace(SURVEY, refused={29: "no copper"})))
    assert observe_case(Nothing(), case, {}).reason == "no copper"
    assert observe_case(Nothing(), case, {}).status == FAILED


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome("k", ERROR, reason="why", cause=Cause.WORKER_LOST), ERROR),
        (Outcome("k", UNSUPPORTED, reason="why"), UNSUPPORTED),
        (Outcome("k", FAILED, reason="why", cause=Cause.NOT_FINITE), FAILED),
        (Outcome("k", FAILED, {"natoms": 1}, reason="some points are there"), OK),
    ],
)
def test_a_job_without_values_ends_the_case_before_the_benchmark_sees_it(outcome: Outcome, status: str) -> None:
    case = planned_cases(Two(), Scope(SURVEY))[0]
    found = observe_case(Two(), case, {"job": outcome, "extra": Outcome("e", OK)})
    assert found.status == status
    assert found.cause == (outcome.cause if status != OK else "")
    assert found.detail["group"] == "group a"


def test_an_optional_job_may_be_refused_but_not_lost() -> None:
    case, fine = planned_cases(Two(), Scope(SURVEY))[0], Outcome("k", OK)
    assert observe_case(Two(), case, {"job": fine, "extra": Outcome("e", FAILED, reason="no")}).status == OK
    assert observe_case(Two(), case, {"job": fine, "extra": Outcome("e", ERROR, reason="lost")}).status == ERROR


def test_groups_have_metrics_of_their_own_and_rare_metrics_appear_only_with_values() -> None:
    cases = planned_cases(Two(), Scope(SURVEY))
    observations = [observe_case(Two(), case, {"job": Outcome("k", OK)}) for case in cases]
    names = [value.name for value in Two().measure(observations)]
    assert names == ["length", "length (group a)", "length (group b)", "length (group c)"]


def test_the_null_model_stands_in_the_context() -> None:
    case = with_null(Two(), planned_cases(Two(), Scope(SURVEY))[0], {"job": Outcome("k", OK)})
    assert case.context["null"] == {"status": OK, "values": {"length": 1.0}, "score": 1.0}
