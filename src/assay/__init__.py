"""Assay: can this interatomic potential be trusted?"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay.api import check, run
    from assay.benchmark import Benchmark, Case, Metric, Observation, Plot, Scope, Verdict
    from assay.benchmarks.bases.check import Check
    from assay.benchmarks.bases.limits import Limits, Residual
    from assay.benchmarks.bases.records import RecordBenchmark
    from assay.errors import AssayError, Cause, ModelFailure
    from assay.jobs import Band, Dynamics, Probe, Relaxation, SinglePoints, Watch
    from assay.model import BatchEvaluator, Model, ModelCard
    from assay.models import neighbours
    from assay.models.loading import load_model
    from assay.outcome import Outcome, Point
    from assay.structure import Structure, from_atoms
    from assay.survey import Survey

_HOMES = {
    "assay.api": ("check", "run"),
    "assay.benchmark": ("Benchmark", "Case", "Metric", "Observation", "Plot", "Scope", "Verdict"),
    "assay.benchmarks.bases.check": ("Check",),
    "assay.benchmarks.bases.limits": ("Limits", "Residual"),
    "assay.benchmarks.bases.records": ("RecordBenchmark",),
    "assay.errors": ("AssayError", "Cause", "ModelFailure"),
    "assay.jobs": ("Band", "Dynamics", "Probe", "Relaxation", "SinglePoints", "Watch"),
    "assay.model": ("BatchEvaluator", "Model", "ModelCard"),
    "assay.models": ("neighbours",),
    "assay.models.loading": ("load_model",),
    "assay.outcome": ("Outcome", "Point"),
    "assay.structure": ("Structure", "from_atoms"),
    "assay.survey": ("Survey",),
}
"""Where the public names live: the verbs, the nouns of benchmark authors, and those of model authors."""

__all__ = [
    "AssayError",
    "Band",
    "BatchEvaluator",
    "Benchmark",
    "Case",
    "Cause",
    "Check",
    "Dynamics",
    "Limits",
    "Metric",
    "Model",
    "ModelCard",
    "ModelFailure",
    "Observation",
    "Outcome",
    "Plot",
    "Point",
    "Probe",
    "RecordBenchmark",
    "Relaxation",
    "Residual",
    "Scope",
    "SinglePoints",
    "Structure",
    "Survey",
    "Verdict",
    "Watch",
    "check",
    "from_atoms",
    "load_model",
    "neighbours",
    "run",
]


def __getattr__(name: str) -> object:
    """Import public names when they are first used, so that `import assay` costs nothing."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(home)
    return getattr(module, name, None) or import_module(f"{home}.{name}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
