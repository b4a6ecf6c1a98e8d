"""Verdicts and results that are made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.benchmarks.bases.check import Verdict
from assay.observation import Observation
from assay.outcome import OK, UNSUPPORTED
from assay.results import BenchmarkResult, ModelResult
from assay.score import mean_score

EVIL = "<script>alert('x')</script> & \"quotes\" ]]> [bold]not bold[/bold]"


def verdict(name: str, status: str = OK, passed: bool | None = True, **changes: Any) -> Verdict:
    usual: dict[str, Any] = {
        "mandatory": True, "grade": "A", "error": 1e-9, "unit": "eV", "tolerance": 1e-6, "evaluated": 3, "refused": 0,
        "skipped": 0, "comment": "fine", "where": "Cu-cluster", "why": "as it is", "floor": 1e-12,
    }  # fmt: skip
    return Verdict(name, status, passed, **{**usual, **changes})


def result(*verdicts: Verdict, name: str = "model") -> ModelResult:
    """A model with one benchmark for each verdict."""
    rows = [
        BenchmarkResult(v.name, 1, None, None, (0, 1), [], [Observation("case", v.status)], [None], v) for v in verdicts
    ]
    return ModelResult(name, rows)


def benchmark(name: str, scores: Mapping[str, float | None], **changes: Any) -> BenchmarkResult:
    """A benchmark with these scores of its cases; a case without a score is not supported."""
    seen = [Observation(case, OK if score is not None else UNSUPPORTED) for case, score in scores.items()]
    known = [score for score in scores.values() if score is not None]
    mean, stderr = mean_score(known)
    coverage = (len(known), len(scores))
    return replace(BenchmarkResult(name, 1, mean, stderr, coverage, [], seen, list(scores.values())), **changes)


def strictly(document: object) -> Any:
    """The document after a strict JSON writer and reader; fails on NaN and infinity."""

    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(json.dumps(document, allow_nan=False), parse_constant=refuse)
