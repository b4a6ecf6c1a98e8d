"""Models with hostile names and with numbers that JSON does not have."""

from __future__ import annotations

import numpy as np
import pytest

from assay.benchmark import MetricValue, Observation
from assay.outcome import FAILED, OK, UNSUPPORTED
from assay.results import BenchmarkResult, ModelResult
from verdicts import EVIL, result, verdict


@pytest.fixture
def hostile() -> ModelResult:
    """A model whose names and comments are not meant well."""
    bad = verdict("verification.net_force_zero", FAILED, False, comment=EVIL, where=EVIL, grade="F")
    return result(bad, verdict("verification.thread_safe", UNSUPPORTED, None, comment=EVIL), name=EVIL)


@pytest.fixture
def not_finite() -> ModelResult:
    """A model with numbers that JSON does not have."""
    bad = verdict("verification.net_force_zero", FAILED, False, error=np.inf, tolerance=np.nan, floor=-np.inf)
    row = BenchmarkResult(
        "verification.net_force_zero",
        1,
        float("nan"),
        float("inf"),
        (1, 1),
        [MetricValue("m", np.nan, np.inf, "eV", 1.0, -np.inf)],
        [Observation("case", OK, {"m": np.float64("nan"), "n": np.float32("inf")})],
        [float("nan")],
        bad,
    )
    return ModelResult("model", [row], {"survey": {"noise": np.array([np.nan])}})
