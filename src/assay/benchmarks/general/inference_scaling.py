"""Time and memory of an evaluation as the system grows.

It decides what a model can be used for, and it says nothing about whether the model is right. So it is never part of
a score.

Protocol: energy and forces of ice of 24 to 5184 atoms (periodic if the model supports that, else a free piece), or of a
crystal or cluster of the model's first species, one after the other in one thread, until a limit of CPU time. Times are
CPU times, or wall times for a model on an accelerator; hardware and load are stored with the result. Nothing is scored.
- time_exponent: power of the number of atoms with which the CPU time grows, from the sizes at which an evaluation takes
  three times as long as at the smallest. Time is the shortest of some calls, since other work can only add to it.
- memory_exponent: the same for memory, which is the peak above what the process held before.
- time_per_atom, memory_per_atom: at the largest size.
- largest_system: the largest size that was answered within the time limit.
Reference: none; a local model has an exponent of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.scaling import growth
from assay.benchmark import Benchmark, Case, Scope
from assay.benchmarks.builders.growing import growing_systems
from assay.jobs import Probe
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome

PROBE = "scaling"


@dataclass(frozen=True)
class InferenceScaling(Benchmark):
    """Systems of up to `most_atoms`, the best of `repeats` calls each, `seconds` in all."""

    metrics = (
        Metric("time_exponent", "1"),
        Metric("memory_exponent", "1"),
        Metric("time_per_atom", "µs"),
        Metric("memory_per_atom", "kB"),
        Metric("largest_system", "atoms"),
    )
    plots = (
        Plot("curve", "cpu_seconds", "natoms", "time of an evaluation", "atoms", "CPU time (s)"),
        Plot("curve", "peak_megabytes", "natoms", "memory of an evaluation", "atoms", "memory (MB)"),
    )
    catches = ("raises",)
    needs_noise = False
    seconds: float = 60.0
    repeats: int = 3
    most_atoms: int = 5500

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case with all sizes of a system."""
        name, sizes = growing_systems(scope.survey, self.most_atoms)
        if sizes:
            settings = {"seconds": self.seconds, "repeats": self.repeats}
            calls = len(sizes) * (self.repeats + 1)
            yield Case(name, {PROBE: Probe("scaling", tuple(sizes), settings, calls)})

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Exponents, costs per atom at the largest size, and that size."""
        found = outcomes[PROBE].values
        atoms, cpu, memory = (np.asarray(found[k], dtype=float) for k in ("natoms", "cpu_seconds", "peak_megabytes"))
        laws = {"time_exponent": growth(atoms, cpu), "memory_exponent": growth(atoms, memory)}
        values = {name: law.exponent for name, law in laws.items() if law.exponent is not None}
        values |= {
            "time_per_atom": 1e6 * float(cpu[-1] / atoms[-1]),
            "memory_per_atom": 1e3 * float(memory[-1] / atoms[-1]),
            "largest_system": float(atoms[-1]),
        }
        errors = {name: law.stderr for name, law in laws.items()}
        return Observation(case.id, OK, values, detail=found, stderr=errors)
