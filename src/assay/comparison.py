"""Models side by side over what all of them finished: the same benchmarks, and of each the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.gaps import Gap, Why, gap_of
from assay.results import BenchmarkResult, ModelResult
from assay.score import mean_score


@dataclass(frozen=True)
class Comparison:
    """Several models, each with only the benchmarks and cases that all have scores for."""

    models: Sequence[ModelResult]
    """The models in their order; `score` and `categories` follow the usual rule, over the common cases."""

    left_out: Sequence[Gap]
    """Benchmarks that are not compared, and why."""


def compare_models(models: Sequence[ModelResult]) -> Comparison | None:
    """The comparison of two or more models; None for fewer. Checks are certificates and are not compared."""
    if len(models) < 2:
        return None
    kept: list[list[BenchmarkResult]] = [[] for _ in models]
    left_out = []
    for name in _names(models):
        gap = _one_obstacle(name, models)
        if gap is not None:
            left_out.append(gap)
            continue
        for benchmarks, shared in zip(kept, _over_common_cases(name, models), strict=True):
            benchmarks.append(shared)
    compared = [replace(m, benchmarks=own, not_run=()) for m, own in zip(models, kept, strict=True)]
    return Comparison(compared, left_out)


def _names(models: Sequence[ModelResult]) -> list[str]:
    """Benchmarks that can have a score, of any of the models."""
    names = [b.name for m in models for b in m.benchmarks if b.counts]
    return list(dict.fromkeys(names + [gap.benchmark for m in models for gap in m.not_run if not gap.is_check]))


def _found(name: str, model: ModelResult) -> BenchmarkResult | None:
    return next((b for b in model.benchmarks if b.name == name and b.score is not None), None)


def _one_obstacle(name: str, models: Sequence[ModelResult]) -> Gap | None:
    """Why a benchmark cannot be compared: a model without a score, other settings or data, or no case of all models."""
    without = [model for model in models if _found(name, model) is None]
    if without:
        gaps = [_gap(name, model) for model in without]
        return Gap(name, gaps[0].why, _who([gap.why for gap in gaps], without))
    results = [found for model in models if (found := _found(name, model)) is not None]
    if changed := _different_settings(results):
        return Gap(name, Why.DIFFERENT_SETTINGS, changed)
    if len({_data_of(result) for result in results}) > 1:
        return Gap(name, Why.DIFFERENT_DATA, "; ".join(", ".join(s["name"] for s in r.data) for r in results))
    if not _common_cases(results):
        return Gap(name, Why.NO_COMMON_CASE, "no case has a score for every model")
    return None


def _who(reasons: Sequence[Why], models: Sequence[ModelResult]) -> str:
    """The models without a score by reason: "not run by emt, lj; not finished by nep89"."""
    pairs = list(zip(reasons, models, strict=True))
    texts = [f"{why} by {', '.join(m.name for w, m in pairs if w == why)}" for why in dict.fromkeys(reasons)]
    return "; ".join(texts)


def _gap(name: str, model: ModelResult) -> Gap:
    """Why one model has no score for a benchmark."""
    found = next((b for b in model.benchmarks if b.name == name), None)
    known = gap_of(found) if found else next((gap for gap in model.not_run if gap.benchmark == name), None)
    return known or Gap(name, Why.NOT_RUN)


def _different_settings(results: Sequence[BenchmarkResult]) -> str:
    """The settings in which runs of a benchmark differ, with their values; empty if there are none."""
    first = results[0].settings
    names = [n for n in first if any(r.settings.get(n) != first[n] for r in results)]
    return "; ".join(f"{n}: {', '.join(str(r.settings.get(n)) for r in results)}" for n in names)


def _data_of(result: BenchmarkResult) -> frozenset[tuple[str, str]]:
    return frozenset((source["name"], source.get("sha256", "")) for source in result.data)


def _common_cases(results: Sequence[BenchmarkResult]) -> set[str]:
    """Names of the cases that have a score for every model."""
    return set.intersection(*(set(_case_scores(result)) for result in results))


def _case_scores(result: BenchmarkResult) -> dict[str, float]:
    scored = zip(result.observations, result.case_scores, strict=True)
    return {seen.case: score for seen, score in scored if score is not None}


def _over_common_cases(name: str, models: Sequence[ModelResult]) -> list[BenchmarkResult]:
    """The benchmark of each model, with only the common cases and the score over them."""
    results = [found for model in models if (found := _found(name, model)) is not None]
    common = _common_cases(results)
    return [_restricted(result, common) for result in results]


def _restricted(result: BenchmarkResult, common: set[str]) -> BenchmarkResult:
    scored = zip(result.observations, result.case_scores, strict=True)
    kept = [(seen, score) for seen, score in scored if seen.case in common and score is not None]
    score, stderr = mean_score([score for _, score in kept])
    return replace(
        result,
        score=score,
        stderr=stderr,
        coverage=(len(kept), len(kept)),
        metrics=(),
        observations=[seen for seen, _ in kept],
        case_scores=[score for _, score in kept],
        null_score=None,
    )
