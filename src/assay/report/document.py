"""The JSON documents of the command line. Their keys are a contract; NaN and infinity never appear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.categories import Category
from assay.comparison import Comparison, compare_models
from assay.composite import Composite, paper_composite
from assay.gaps import Gap
from assay.observation import ELEMENTS, MetricValue, Observation
from assay.results import BenchmarkResult, ModelResult
from assay.store.codec import plain_table

CHECK_KEYS = (
    "name", "status", "passed", "mandatory", "grade", "error", "unit", "tolerance", "evaluated", "refused", "skipped",
    "comment", "where", "why", "floor",
)  # fmt: skip


def check_document(result: ModelResult) -> dict[str, Any]:
    """What `assay check --json` prints."""
    survey = result.description.get("survey", {})
    checks = [{key: getattr(verdict, key) for key in CHECK_KEYS} for verdict in result.verdicts]
    document = {"model": result.name, "passed": result.passed, "checks": checks, "survey": survey}
    return plain_table(document)


def score_document(
    results: Sequence[ModelResult], suite: str, detail: bool = False, composite: bool = False
) -> dict[str, Any]:
    """What `assay score --json` and `assay run --json` print.

    With `detail` also the detail of each case, with `composite` also the composite score of the publication.
    """
    models = [_model(result, detail) for result in results]
    if composite:
        models = [m | {"composite": _composite(paper_composite(r))} for m, r in zip(models, results, strict=True)]
    return plain_table({"suite": suite, "models": models, "comparison": _comparison(compare_models(results))})


def _model(result: ModelResult, detail: bool) -> dict[str, Any]:
    score, stderr = result.score
    return {
        "name": result.name,
        "score": score,
        "stderr": stderr,
        "coverage": result.coverage,
        "benchmark_coverage": result.benchmark_coverage,
        "passed": result.passed if result.verdicts else None,
        "categories": {category.name: _category(category) for category in result.categories},
        "missing": [gap.benchmark for gap in result.missing],
        "gaps": [_gap(gap) for gap in result.missing],
        "benchmarks": [_benchmark(b, detail) for b in result.benchmarks],
        "warnings": list(result.warnings),
    }


def _category(category: Category) -> dict[str, Any]:
    keys = ("score", "stderr", "coverage", "benchmark_coverage", "passed")
    return {key: getattr(category, key) for key in keys}


def _gap(gap: Gap) -> dict[str, Any]:
    return {"benchmark": gap.benchmark, "why": str(gap.why), "reason": gap.reason}


def _comparison(found: Comparison | None) -> dict[str, Any] | None:
    """Models over what all finished; null for one model."""
    if found is None:
        return None
    names = [b.name for b in found.models[0].benchmarks]
    return {
        "benchmarks": names,
        "models": [_compared(model) for model in found.models],
        "left_out": [_gap(gap) for gap in found.left_out],
    }


def _compared(model: ModelResult) -> dict[str, Any]:
    score, stderr = model.score
    return {
        "name": model.name,
        "score": score,
        "stderr": stderr,
        "categories": {c.name: {"score": c.score, "stderr": c.stderr} for c in model.categories},
        "benchmarks": {
            b.name: {"score": b.score, "stderr": b.stderr, "cases": [o.case for o in b.observations]}
            for b in model.benchmarks
        },
    }


def _composite(found: Composite) -> dict[str, Any]:
    counted = {part.benchmark: part for part in found.counted}
    return {
        "name": found.name,
        "score": found.score,
        "literal_score": found.literal_score,
        "n": len(counted),
        "of": len(found.parts),
        "benchmarks": {
            name: {"title": part.title, "score": part.score, "literal_score": part.literal}
            for name, part in counted.items()
        },
        "missing": [{"title": part.title, **_gap(part.gap)} for part in found.parts if part.gap is not None],
    }


def _benchmark(result: BenchmarkResult, detail: bool) -> dict[str, Any]:
    scored = zip(result.observations, result.case_scores, strict=True)
    verdict = result.verdict
    return {
        "name": result.name,
        "version": result.version,
        "score": result.score,
        "stderr": result.stderr,
        "coverage": list(result.coverage),
        "null_score": result.null_score,
        "skill": result.skill,
        "data": [dict(source) for source in result.data],
        "metrics": [asdict(metric) for metric in result.metrics],
        "cases": [_case(observation, score, result.metrics, detail) for observation, score in scored],
        **({"check": {key: getattr(verdict, key) for key in CHECK_KEYS}} if verdict else {}),
    }


def _case(
    observation: Observation, score: float | None, metrics: Sequence[MetricValue], detail: bool
) -> dict[str, Any]:
    usual = {m.name: m.threshold for m in metrics if m.threshold is not None and m.name in observation.values}
    return {
        "id": observation.case,
        "status": observation.status,
        "values": dict(observation.values),
        "stderr": dict(observation.stderr),
        "tolerances": {**usual, **observation.tolerances},
        "elements": list(observation.detail.get(ELEMENTS, ())),
        "unresolved": list(observation.unresolved),
        "score": score,
        "reason": observation.reason,
        "cause": observation.cause,
        **({"detail": plain_table(observation.detail)} if detail else {}),
    }
