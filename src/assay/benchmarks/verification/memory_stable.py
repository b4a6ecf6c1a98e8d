"""Memory does not grow with the number of evaluations.

A leak of a kilobyte per call is invisible in a test and ends a simulation of a million steps with a gigabyte.

Protocol:
- Structures that keep changing in shape and size are evaluated in twelve blocks.
- Growth of the process (mean per block after warm-up, without the largest step), and of what Python itself holds.
- Limit: 1000 bytes per evaluation.
Reference: zero growth.
Cite: OpenKIM verification check vc-memory-leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Residual
from assay.jobs import Probe
from assay.outcome import Outcome
from assay.survey import Survey

LIMIT = 1000.0
"""Bytes per evaluation: a gigabyte in a simulation of a million steps."""

NOISE = 20.0
"""Bytes per evaluation that come from the measurement itself."""


@dataclass(frozen=True)
class MemoryStable(Check):
    """No growth over many evaluations of changing structures."""

    catches = ("memory_leak", "slow_leak")
    evaluations: int = 1200
    seconds: float = 20.0

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One job with clusters of up to three species, a crystal and a smaller cluster."""
        clusters = [structure for _, structure in survey.clusters()[:3]]
        crystals = [s for pattern in survey.periodic_patterns[:1] for _, s in survey.crystals(pattern)[:1]]
        smaller = [c.reordered(range(3)) for c in clusters[:1]]
        structures = (*clusters, *crystals, *smaller)
        if structures:
            settings = {"evaluations": self.evaluations, "seconds": self.seconds}
            yield Case("evaluations", {"memory": Probe("memory", structures, settings, 2 * self.evaluations)})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Bytes kept per evaluation, by the process and by Python."""
        values = outcomes["memory"].values
        why = "1000 bytes per call are a gigabyte in a simulation of a million steps"
        for name, label in (("resident_bytes", "memory of the process"), ("python_bytes", "Python objects")):
            yield Residual(label, float(values[name]), "bytes per evaluation", LIMIT, NOISE, why)
