"""A sound benchmark keeps the contract, and each way to break it is found.

The toy benchmark below is complete: its documentation is this docstring.

Protocol: the energy of a copper pair at three distances.
Reference: zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.benchmark import Benchmark, Case, Scope, failed
from assay.configurations import dimer
from assay.errors import AssayError
from assay.jobs import Band, Dynamics, Probe, Relaxation, SinglePoints
from assay.observation import Metric, MetricValue, Observation, mean_metric
from assay.outcome import FAILED, OK, Outcome
from assay.store.codec import plain
from assay.testing import SURVEYS, check_benchmark, fake_survey
from assay.testing.benchmarks import (
    assert_declared,
    assert_documented,
    assert_nothing_evaluated_scores_nothing,
    assert_order_does_not_matter,
    refused_outcome,
)

NUMBERS = count()


@dataclass(frozen=True)
class PairEnergy(Benchmark):
    """Energy of a copper pair."""

    metrics = (Metric("energy_error", "eV", threshold=0.1),)
    catches = ("zero_force",)
    distances: tuple[float, ...] = (2.0, 2.5, 3.0)

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case for each distance."""
        for distance in self.distances if scope.survey.answered else ():
            yield Case(f"Cu-Cu {distance}", {"pair": SinglePoints((dimer(29, 29, distance),))}, {"at": distance})

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The energy itself."""
        (point,) = outcomes["pair"].points()
        if not point.ok:
            return failed(case, point.reason)
        return Observation(case.id, OK, {"energy_error": abs(point.energy)})


class Twins(PairEnergy):
    """Two cases of one name."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        return [replace(case, id="pair") for case in super().cases(scope)]


class NewNames(PairEnergy):
    """Other names every time."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        return [replace(case, id=f"pair {next(NUMBERS)}") for case in super().cases(scope)]


class NewNumbers(PairEnergy):
    """Another context every time."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        return [replace(case, context={**case.context, "n": next(NUMBERS)}) for case in super().cases(scope)]


class Objects(PairEnergy):
    """A context that is not plain data."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        return [replace(case, context={**case.context, "path": Path("x")}) for case in super().cases(scope)]


class Silent(PairEnergy):
    """A case without jobs that does not say why."""

    def cases(self, scope: Scope) -> Iterable[Case]:
        return [Case("pair", {})]


class Fragile(PairEnergy):
    """An exception where the model refused."""

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        (point,) = outcomes["pair"].points()
        return Observation(case.id, OK, {"energy_error": {True: point.energy}[point.ok]})


class Trusting(PairEnergy):
    """NaN of a refused structure is observed as a value."""

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        return Observation(case.id, OK, {"energy_error": outcomes["pair"].points()[0].energy})


class Another(PairEnergy):
    """The observation of another case."""

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        return replace(super().observe(case, outcomes), case="another")


class Excuses(PairEnergy):
    """A model that answers nothing is lost, not failed."""

    def without_cases(self, scope: Scope) -> Case:
        return Case("nothing", {}, lost="no answer")


class ScoresNan(PairEnergy):
    """NaN is a score."""

    def case_score(self, observation: Observation) -> float | None:
        return float("nan") if observation.status == OK else super().case_score(observation)


class ScoresTwo(PairEnergy):
    """Scores reach 2."""

    def case_score(self, observation: Observation) -> float | None:
        score = super().case_score(observation)
        return None if score is None else 2.0 * score


class RewardsFailure(PairEnergy):
    """A failed case has a score above 0."""

    def case_score(self, observation: Observation) -> float | None:
        return 0.5


class ValueOfNothing(PairEnergy):
    """A value where nothing was evaluated."""

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        return [replace(mean_metric(metric, observations), value=0.0) for metric in self.metrics]


class BrokenNull(PairEnergy):
    """The null model raises."""

    has_null = True

    def observe_null(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        raise KeyError("pair")


class CatchesNobody(PairEnergy):
    """The name of a broken model that does not exist."""

    catches = ("no_such_model",)


class NoMetrics(PairEnergy):
    """No metrics."""

    metrics = ()


class SameMetrics(PairEnergy):
    """Two metrics of one name."""

    metrics = (Metric("energy_error", "eV"), Metric("energy_error", "meV"))


class NoUnit(PairEnergy):
    """A metric without a unit."""

    metrics = (Metric("energy_error", ""),)


class NoThreshold(PairEnergy):
    """A threshold of 0."""

    metrics = (Metric("energy_error", "eV", threshold=0.0),)


class VersionZero(PairEnergy):
    """No version."""

    version = 0


@dataclass(frozen=True)
class Setting(PairEnergy):
    """A setting that is not plain data."""

    place: Path = Path("x")


class Undocumented(PairEnergy):
    pass


BROKEN = {
    Twins: "two of its cases are called 'pair'",
    NewNames: "a second call makes other cases",
    NewNumbers: "a second call gives case 'Cu-Cu 2.0' other jobs or another context",
    Objects: "the context of case 'Cu-Cu 2.0' is not plain data",
    Silent: "case 'pair' has no jobs and no reason",
    Fragile: "case 'Cu-Cu 2.0' raises KeyError",
    Trusting: "case 'Cu-Cu 2.0' whose structures are refused is observed as 'ok'",
    Another: "expected an observation of that case",
    Excuses: "for a model with no answer at all, case 'nothing' is 'error'",
    ScoresNan: "scores nan",
    ScoresTwo: "scores 2.0",
    RewardsFailure: "scores 0.5",
    ValueOfNothing: "a model with no answer at all passes or scores",
    BrokenNull: "raises KeyError .* where the null model is observed",
    CatchesNobody: "it catches 'no_such_model', which is not a broken model",
    NoMetrics: "must be one or more",
    SameMetrics: "of different names",
    NoUnit: "each with a unit",
    NoThreshold: "the threshold of 'energy_error' is not a positive number",
    VersionZero: "its version is 0",
    Setting: "its settings are kept with the results and must be plain data",
    Undocumented: "the class has no docstring",
}


def test_a_sound_benchmark_passes_as_class_instance_and_name() -> None:
    check_benchmark(PairEnergy)
    check_benchmark(PairEnergy(distances=(2.2, 2.4)))
    check_benchmark("verification.net_force_zero")
    with pytest.raises(AssayError, match=r"there is no benchmark 'toy\.nothing'"):
        check_benchmark("toy.nothing")


@pytest.mark.parametrize(("kind", "words"), BROKEN.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_broken_benchmark_fails(kind: type[Benchmark], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_benchmark(kind)


def verdict(**fields: object) -> SimpleNamespace:
    """A verdict on nothing, as it should be but for some fields."""
    sound = {"status": "unsupported", "passed": None, "grade": None, "evaluated": 0}
    others = dict.fromkeys(("error", "tolerance", "refused", "skipped"))
    return SimpleNamespace(**{**sound, **others, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"passed": True}, "give a pass, a value or a score"),
        ({"status": OK}, "give the verdict"),
        ({"grade": "A"}, "give the verdict"),
        ({"evaluated": 1}, "give the verdict"),
    ],
)
def test_a_verdict_on_nothing_is_no_pass(fields: dict[str, object], words: str) -> None:
    class Judges(PairEnergy):
        """A check."""

        def verdict(self, observations: Sequence[Observation]) -> SimpleNamespace:
            return verdict(**fields)

    with pytest.raises(AssertionError, match=words):
        assert_nothing_evaluated_scores_nothing(Judges())


def test_a_value_of_nothing_fails() -> None:
    assert_nothing_evaluated_scores_nothing(PairEnergy())
    with pytest.raises(AssertionError, match="give a pass, a value or a score"):
        assert_nothing_evaluated_scores_nothing(ValueOfNothing())


def test_the_survey_in_which_it_fails_is_named() -> None:
    class NoClusters(PairEnergy):
        """No jobs and no reason for models of crystals."""

        def cases(self, scope: Scope) -> Iterable[Case]:
            return super().cases(scope) if "FFF" in scope.survey.pbc else [Case("pair", {})]

    with pytest.raises(AssertionError, match=r"no jobs and no reason.* \(survey 'crystals only'\)"):
        check_benchmark(NoClusters)


def test_a_class_that_can_be_changed_fails() -> None:
    class Loose(PairEnergy):
        """Settings may be changed."""

    Loose.__dataclass_params__ = type("Parameters", (), {"frozen": False})  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="not a frozen dataclass"):
        assert_declared(Loose())


def test_the_path_of_a_packaged_benchmark_is_its_name() -> None:
    kind = type("Other", (PairEnergy,), {"__module__": "assay.benchmarks.physicality.pair", "name": "physicality.pair"})
    with pytest.raises(AssertionError, match=r"class 'Other' in 'physicality\.pair'.*the path is the name"):
        assert_declared(kind())


@pytest.mark.parametrize(
    ("docstring", "words"),
    [
        ("Two lines\nof words.\n\nProtocol: a.\nReference: b.", "expected one sentence on one line"),
        ("No full stop\n\nProtocol: a.\nReference: b.", "expected one sentence on one line"),
        ("A sentence.\n\nReference: b.", "no line that begins with 'Protocol:'"),
        ("A sentence.\n\nProtocol: a.", "no line that begins with 'Reference:'"),
        (None, "expected one sentence"),
    ],
)
def test_the_docstring_has_all_its_parts(monkeypatch: pytest.MonkeyPatch, docstring: str | None, words: str) -> None:
    import sys

    monkeypatch.setattr(sys.modules[PairEnergy.__module__], "__doc__", docstring)
    with pytest.raises(AssertionError, match=words):
        assert_documented(PairEnergy())


def test_the_order_of_observations_must_not_matter() -> None:
    class First(PairEnergy):
        """The value of the first case."""

        def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
            first = observations[0].values["energy_error"]
            return [replace(mean_metric(metric, observations), value=first) for metric in self.metrics]

    seen = [Observation(f"case {i}", OK, {"energy_error": 0.1 * i}) for i in range(3)]
    assert_order_does_not_matter(PairEnergy(), seen)
    with pytest.raises(AssertionError, match=r"'energy_error' is 0\.0, or 0\.2 in reverse order"):
        assert_order_does_not_matter(First(), seen)

    class Judges(PairEnergy):
        """A check that looks at the first case only."""

        def verdict(self, observations: Sequence[Observation]) -> SimpleNamespace:
            return verdict(error=observations[0].values["energy_error"])

    with pytest.raises(AssertionError, match="'error' of the verdict depends on the order"):
        assert_order_does_not_matter(Judges(), seen)


def test_a_model_that_refuses_everything_fails_every_job(tmp_path: Path) -> None:
    pair = dimer(29, 29)
    jobs: dict[str, Any] = {
        "points": SinglePoints((pair, pair)),
        "relaxation": Relaxation(pair),
        "dynamics": Dynamics(pair, steps=10**6),
        "band": Band(pair, pair),
        "probe": Probe("threads"),
    }
    for role, job in jobs.items():
        outcome = refused_outcome(job, tmp_path, role)
        assert outcome.status == FAILED, role
        assert "refused: no" in outcome.reason
    assert [p.ok for p in refused_outcome(jobs["points"], tmp_path).points()] == [False, False]


def test_there_are_eight_kinds_of_surveys() -> None:
    assert len(SURVEYS) == 8
    assert len({json.dumps(plain(survey.describe())) for survey in SURVEYS.values()}) == 7  # no contact has no marks
    assert SURVEYS["no contact"].contact_error
    assert fake_survey(stress=False).stress is False
