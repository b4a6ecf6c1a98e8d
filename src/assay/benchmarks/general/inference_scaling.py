"""How long a step takes, and how much memory, as the system grows.

It decides what a model can be used for, and it says nothing about whether the model is right. So it is never part of
a score.

Protocol: energy and forces of ice of 24 to 5184 atoms (periodic if the model knows that, else a free piece), or of a
crystal or cluster of the model's first species, one after the other in one thread, until a time limit. Time is the best
of some calls, in CPU seconds, since other work on the machine can only add to it; memory is the peak above what the
process held before. time_exponent and memory_exponent are powers of the number of atoms, from the sizes at which a step
takes three times as long as at the smallest. Run it alone on the machine; hardware and load are kept with the result.
Reference: none; a local model has an exponent of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.analysis.scaling import growth
from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope, ended_early
from assay.benchmarks.bases.runs import STDERR, with_run_errors
from assay.benchmarks.builders.ice import ice_cell
from assay.jobs import Probe
from assay.outcome import FAILED, OK, Outcome
from assay.structure import Structure
from assay.survey import Survey

TIMES = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 3), (4, 4, 3), (5, 4, 4), (5, 5, 5), (6, 6, 6))
"""Copies of the cell along each direction."""

PROBE = "scaling"


@dataclass(frozen=True)
class InferenceScaling(Benchmark):
    """A ladder of sizes up to `most_atoms`, the best of `repeats` calls, `seconds` in all."""

    metrics = (
        Metric("time_exponent", "1"),
        Metric("memory_exponent", "1"),
        Metric("time_per_atom", "µs"),
        Metric("memory_per_atom", "kB"),
        Metric("largest_system", "atoms"),
    )
    catches = ("raises",)
    scored: ClassVar[bool] = False
    needs_noise = False
    seconds: float = 60.0
    repeats: int = 3
    most_atoms: int = 5500

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One ladder."""
        survey = scope.survey
        if survey.contact_error:
            return [Case("contact", {}, lost=survey.contact_error)]
        name, sizes = _ladder(survey, self.most_atoms)
        if not sizes:
            refused = next(iter(survey.refused.values()), "the model answered for no element")
            return [Case("nothing", {}, failure=refused)]
        settings = {"seconds": self.seconds, "repeats": self.repeats}
        calls = len(sizes) * (self.repeats + 1)
        return [Case(name, {PROBE: Probe("scaling", tuple(sizes), settings, calls)})][: scope.limit]

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Exponents, costs per atom at the largest size, and that size."""
        if (early := ended_early(case, outcomes)) is not None:
            return early
        found = outcomes[PROBE]
        if found.status == FAILED:
            return Observation(case.id, FAILED, reason=found.reason)
        atoms, cpu, memory = (
            np.asarray(found.values[k], dtype=float) for k in ("natoms", "cpu_seconds", "peak_megabytes")
        )
        laws = {"time_exponent": growth(atoms, cpu), "memory_exponent": growth(atoms, memory)}
        values = {name: law.exponent for name, law in laws.items() if law.exponent is not None}
        values |= {
            "time_per_atom": 1e6 * float(cpu[-1] / atoms[-1]),
            "memory_per_atom": 1e3 * float(memory[-1] / atoms[-1]),
            "largest_system": float(atoms[-1]),
        }
        detail = {**found.values, STDERR: {name: law.stderr for name, law in laws.items()}}
        return Observation(case.id, OK, values, detail=detail)

    def case_score(self, observation: Observation) -> float | None:
        """None: how fast a model is says nothing about whether it is right."""
        return None

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The values of the ladder, with the errors of the exponents."""
        return [with_run_errors(metric, observations) for metric in self.metrics]


def _ladder(survey: Survey, most: int) -> tuple[str, list[Structure]]:
    """The system, and its sizes; of a cluster there is only one."""
    if {1, 8} <= set(survey.species) & set(survey.answered):
        cell, name = ice_cell(), "ice"
    else:
        crystals = survey.crystals("TTT")
        if not crystals:
            return _clusters(survey, most)
        name, cell = f"{crystals[0][0]} crystal", crystals[0][1].repeated((2, 2, 1))
    sizes = [cell.repeated(times) for times in TIMES]
    if "TTT" not in survey.pbc:
        sizes = [Structure.build(s.numbers, s.positions) for s in sizes]
        name = f"{name}, free"
    return name, [s for s in sizes if len(s) <= most]


def _clusters(survey: Survey, most: int) -> tuple[str, list[Structure]]:
    """Free pieces of a crystal of the first species, at the spacing of its cluster."""
    from assay.configurations import crystal

    subject = next((s for s in survey.subjects if s.cluster_factor is not None), None)
    if subject is None:
        return "", []
    cell = crystal(subject.numbers, subject.cluster_factor or 1.0).repeated((2, 2, 1))
    sizes = [cell.repeated(times) for times in TIMES]
    free = [Structure.build(s.numbers, s.positions) for s in sizes if len(s) <= most]
    return f"{subject.label} cluster", free
