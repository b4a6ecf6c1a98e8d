"""Models are compared over what all of them finished: the same benchmarks, and of each the same cases."""

from __future__ import annotations

import pytest

from assay.comparison import compare_models
from assay.gaps import Gap, Why
from assay.results import ModelResult
from verdicts import benchmark, result, verdict


def test_a_single_model_is_compared_with_nothing() -> None:
    assert compare_models([]) is None
    assert compare_models([ModelResult("m", [benchmark("molecules.x", {"a": 1.0})])]) is None


def test_scores_are_computed_again_over_the_cases_of_all_models() -> None:
    one = ModelResult(
        "one",
        [
            benchmark("molecules.x", {"a": 1.0, "b": 0.0, "c": 0.2}),
            benchmark("molecules.y", {"a": 0.5}),
            benchmark("general.z", {"a": 0.1, "b": 0.3}),
        ],
    )
    two = ModelResult(
        "two",
        [
            benchmark("molecules.x", {"c": 0.6, "a": 0.8, "b": None, "d": 0.0}),  # b has elements that it lacks
            benchmark("molecules.y", {"a": 0.7}),
            benchmark("general.z", {"a": 0.9, "b": 0.5}),
        ],
    )
    assert one.score[0] == pytest.approx(((0.4 + 0.5) / 2 + 0.2) / 2)
    compared = compare_models([one, two])
    assert compared is not None
    assert compared.left_out == []
    first, second = compared.models
    assert [b.score for b in first.benchmarks] == pytest.approx([0.6, 0.5, 0.2])  # x over a and c
    assert [b.score for b in second.benchmarks] == pytest.approx([0.7, 0.7, 0.7])
    assert [b.coverage for b in second.benchmarks] == [(2, 2), (1, 1), (2, 2)]
    assert first.score[0] == pytest.approx((0.55 + 0.2) / 2)
    assert second.score[0] == pytest.approx(0.7)
    assert first.score[1] == pytest.approx(((0.4 / 2) ** 2 + 0.1**2) ** 0.5 / 2)


def test_a_benchmark_that_one_model_did_not_finish_is_left_out_for_all() -> None:
    whole = ModelResult("whole", [benchmark(f"molecules.{name}", {"a": 1.0}) for name in "vwxyz"])
    lost = benchmark("molecules.x", {"a": None}, scored=True)
    short = ModelResult(
        "short",
        [
            lost,
            benchmark("molecules.y", {"b": 1.0}),
            benchmark("molecules.z", {"a": 0.5}),
        ],
        not_run=[Gap("molecules.v", Why.NOT_RUN), Gap("molecules.w", Why.OUTDATED)],
    )
    compared = compare_models([whole, short, ModelResult("none", short.benchmarks[1:], not_run=short.not_run)])
    assert compared is not None
    assert [[b.name for b in model.benchmarks] for model in compared.models] == [["molecules.z"]] * 3
    assert [(gap.benchmark, gap.why, gap.reason) for gap in compared.left_out] == [
        ("molecules.v", Why.NOT_RUN, "not run by short, none"),
        ("molecules.w", Why.OUTDATED, "outdated by short, none"),
        ("molecules.x", Why.NOT_SUPPORTED, "not supported by short; not run by none"),
        ("molecules.y", Why.NO_COMMON_CASE, "no case has a score for every model"),
    ]
    assert [model.score[0] for model in compared.models] == [1.0, 0.5, 0.5]


def test_other_settings_or_data_are_not_compared() -> None:
    data = [{"name": "mine", "sha256": "1"}], [{"name": "mine", "sha256": "2"}]
    one, two = (
        ModelResult(
            name,
            [
                benchmark("molecules.x", {"a": 1.0}, settings={"steps": steps, "seeds": 1}),
                benchmark("molecules.y", {"a": 1.0}, data=source),
                benchmark("molecules.z", {"a": 1.0}, settings={"steps": 5}, data=data[0]),
            ],
        )
        for name, steps, source in (("one", 100, data[0]), ("two", 2000, data[1]))
    )
    compared = compare_models([one, two])
    assert compared is not None
    assert [(gap.benchmark, gap.why) for gap in compared.left_out] == [
        ("molecules.x", Why.DIFFERENT_SETTINGS),
        ("molecules.y", Why.DIFFERENT_DATA),
    ]
    assert compared.left_out[0].reason == "steps: 100, 2000"
    assert [b.name for b in compared.models[0].benchmarks] == ["molecules.z"]


def test_checks_and_times_are_not_compared() -> None:
    times = benchmark("general.times", {"a": None}, scored=False)
    models = [ModelResult(name, [*result(verdict("verification.x")).benchmarks, times]) for name in ("one", "two")]
    compared = compare_models(models)
    assert compared is not None
    assert compared.left_out == []
    assert [(model.benchmarks, model.score) for model in compared.models] == [([], (None, None))] * 2
