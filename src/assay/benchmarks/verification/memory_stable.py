"""Memory does not grow with the number of evaluations, of structures or of calculators.

A leak of a kilobyte per call is invisible in a test and ends a simulation of a million steps with a gigabyte. A cache
with an entry for each Atoms object, or a list of all calculators, fills the memory of a screening.

Protocol:
- Structures that keep changing in shape and size are evaluated in twelve blocks.
- Growth of the process (mean per block after warm-up, without the largest step), and of what Python itself holds.
- Growth of what Python holds while new Atoms objects are evaluated through ASE's methods.
- Growth while calculators are built, used once and dropped, of Python and of the process. Models that take long to
  build are not asked: eleven calculators must fit into half of the time of this check.
- Limits: 1000 bytes per evaluation, 100 bytes per Atoms object, 500 bytes per object that the user has dropped, 1000
  bytes per calculator, of the process 100 kB.
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

OBJECT_LIMIT, DROPPED_LIMIT = 100.0, 500.0
"""Bytes per Atoms object of a few atoms: sound models keep about 10, and the smallest cache more than 100. A dropped
object that is kept has 1400; a cache of limited size may exchange its entries for new ones, which look like growth."""

RESIDENT_LIMIT = 100_000.0
"""Bytes of the process per calculator, of which few are built: compiled libraries take memory in large pieces."""

NOISE, FEW_NOISE = 20.0, 100.0
"""Bytes per evaluation or object that come from the measurement itself, and per calculator, of which there are few."""

GROWTH = {
    "resident_bytes": ("memory of the process", "bytes per evaluation", LIMIT, NOISE),
    "python_bytes": ("Python objects", "bytes per evaluation", LIMIT, NOISE),
    "object_bytes": ("Python objects", "bytes per Atoms object", OBJECT_LIMIT, NOISE),
    "dropped_object_bytes": ("Python objects", "bytes per dropped Atoms object", DROPPED_LIMIT, NOISE),
    "calculator_bytes": ("Python objects", "bytes per calculator", LIMIT, FEW_NOISE),
    "calculator_resident_bytes": ("memory of the process", "bytes per calculator", RESIDENT_LIMIT, FEW_NOISE),
}
"""Where it is measured, its unit, the limit, and the noise of the measurement; earlier versions have the first two."""


@dataclass(frozen=True)
class MemoryStable(Check):
    """No growth over many evaluations of changing structures."""

    version = 2
    catches = ("memory_leak", "slow_leak", "keeps_atoms", "keeps_calculators")
    evaluations: int = 1200
    seconds: float = 20.0

    def trials(self, survey: Survey) -> Iterable[Case]:
        """One job with clusters of up to three species, a crystal and a smaller cluster."""
        clusters = [structure for _, structure in survey.clusters()[:3]]
        crystals = [s for pattern in survey.periodic_patterns[:1] for _, s in survey.crystals(pattern)[:1]]
        smaller = [c.reordered(range(3)) for c in clusters[:1]]
        structures = (*clusters, *crystals, *smaller)
        if structures:
            settings = {"evaluations": self.evaluations, "seconds": self.seconds, "objects": True}
            yield Case("evaluations", {"memory": Probe("memory", structures, settings, 2 * self.evaluations)})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Bytes kept per evaluation, per object and per calculator, by the process and by Python."""
        values = outcomes["memory"].values
        why = "1000 bytes per call are a gigabyte in a simulation of a million steps"
        for name, (label, unit, limit, noise) in GROWTH.items():
            if name in values:
                yield Residual(label, float(values[name]), unit, limit, noise, why)
