"""Results have the form that ASE states, and parts and sums of models add up.

Programs read `atoms.calc.results`, write it to files, and add calculators to each other. An energy that is an array, or
a stress of nine components, works in one place and fails or is misread in the next.

Protocol: clusters and crystals through ASE's public methods, and what is then in the results of the calculator:
- energy and free energy are one real number each; forces have the shape (N, 3) and the stress is six Voigt components;
- where they are given, the energies of atoms add up to the energy and the stresses of atoms to the stress;
- the sum of the calculator and itself (ASE's SumCalculator) is twice the calculator in energy, forces and stress;
- the stress as a tensor has the same components. Other entries may be there and are not looked at.
Reference: the interface of ASE, and the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Case
from assay.benchmarks.bases.check import Check
from assay.benchmarks.bases.limits import Limits, Residual
from assay.jobs import Data, Probe
from assay.outcome import Outcome
from assay.survey import Survey


@dataclass(frozen=True)
class ResultsFollowAse(Check):
    """Energy, forces and stress are numbers and arrays of the right shape, and sums are sums."""

    catches = ("energy_in_array", "stress_as_tensor", "energies_without_pairs", "corrects_outside_calculate")

    def trials(self, survey: Survey) -> Iterable[Case]:
        """A cluster and a crystal of the first species and of the mixture."""
        patterns = survey.periodic_patterns[:1]
        found = [*survey.clusters(), *((f"{n}-{p}", s) for p in patterns for n, s in survey.crystals(p))]
        ends = [survey.subjects[0].label, survey.subjects[-1].label] if survey.subjects else []
        chosen = [(label, s) for label, s in found if label.partition("-")[0] in ends]
        if chosen:
            job = Probe("ase_results", tuple(s for _, s in chosen), force_calls=3 * len(chosen))
            yield Case("results", {"results": job}, {"labels": [label for label, _ in chosen]})

    def residuals(self, case: Case, outcomes: Mapping[str, Outcome]) -> Iterable[Residual]:
        """Wrong forms, and deviations of parts and sums."""
        values, limits, labels = outcomes["results"].values, Limits.of(case), case.context["labels"]
        for index, row in zip(values["indices"], values["rows"], strict=True):
            for fault in row["faults"]:
                where = f"{labels[index]}: {fault['what']} is {fault['found']}, expected {fault['expected']}"
                yield Residual(where, np.inf, "faults", 0.0, 0.0, "the interface of ASE")
            if not row["faults"]:
                yield Residual(f"{labels[index]}: form of the results", 0.0, "faults", 1.0, 1.0, "the interface of ASE")
            for deviation in row["deviations"]:
                yield _judged(limits, str(labels[index]), deviation, int(row["natoms"]))


def _judged(limits: Limits, label: str, deviation: Data, atoms: int) -> Residual:
    """Sums differ by rounding, unless the calculator computes again: an iterative one may start from its solution."""
    where, error, scale = f"{label} {deviation['what']}", float(deviation["error"]), float(deviation["scale"])
    energy, forces = (10.0, 1000.0) if deviation["again"] else (1.0, 1.0)
    if deviation["kind"] == "energy":
        return limits.energy(where, error, scale, atoms, tight=energy)
    judge = limits.forces if deviation["kind"] == "forces" else limits.stress
    return judge(where, error, scale, tight=forces)
