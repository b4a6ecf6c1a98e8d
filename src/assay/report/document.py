"""The JSON documents of the command line. Their keys are a contract; NaN and infinity never appear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from assay.benchmark import Observation
from assay.results import BenchmarkResult, ModelResult
from assay.score import combine
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


def score_document(results: Sequence[ModelResult], suite: str, detail: bool = False) -> dict[str, Any]:
    """What `assay score --json` and `assay run --json` print; with `detail` also the detail of each case."""
    document = {"suite": suite, "models": [_model(result, detail) for result in results]}
    return plain_table(document)


def _model(result: ModelResult, detail: bool) -> dict[str, Any]:
    score, stderr = result.score
    return {
        "name": result.name,
        "score": score,
        "stderr": stderr,
        "coverage": result.coverage,
        "passed": result.passed if result.verdicts else None,
        "categories": _categories(result),
        "benchmarks": [_benchmark(b, detail) for b in result.benchmarks],
        "warnings": list(result.warnings),
    }


def _categories(result: ModelResult) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(b.category for b in result.benchmarks):
        group = [b for b in result.benchmarks if b.category == name]
        score, stderr = combine([(b.score, b.stderr) for b in group])
        coverage = [sum(b.coverage[0] for b in group), sum(b.coverage[1] for b in group)]
        found[name] = {"score": score, "stderr": stderr, "coverage": coverage}
    return found


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
        "cases": [_case(observation, score, detail) for observation, score in scored],
        **({"check": {key: getattr(verdict, key) for key in CHECK_KEYS}} if verdict else {}),
    }


def _case(observation: Observation, score: float | None, detail: bool) -> dict[str, Any]:
    return {
        "id": observation.case,
        "status": observation.status,
        "values": dict(observation.values),
        "stderr": dict(observation.stderr),
        "tolerances": dict(observation.tolerances),
        "score": score,
        "reason": observation.reason,
        "cause": observation.cause,
        **({"detail": plain_table(observation.detail)} if detail else {}),
    }
