"""Minimum-energy paths: the saddle that the model itself finds between reactant and product.

A single point at a known saddle says how high the model is there, not whether it has a saddle there at all.

Protocol: a nudged elastic band with improved tangents and a climbing image between reactant and product, both relaxed
first, started through the transition state of the reference, until the largest force is below 0.05 eV/Å. A band that
does not converge fails. barrier_error is the error of the energy of the highest image over that of the first; ts_rmsd
is how far its atoms are from the reference transition state after superposition. The score of a reaction is the worse
of the two, because a model without forces leaves the band where it was put, on the reference itself, and converges at
once; and such a model, or one whose energy never changes, fails. `converged` is the share of bands that converged.
Reference: the data set's, named with its level in every result.
Cite: Grambow, Pattanaik and Green (2020); Henkelman and Jónsson (2000); MLIPAudit, which asks for convergence only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Case, Metric, MetricValue, Observation, metric_value
from assay.benchmarks.bases.reactions import ordered, reference_energies
from assay.benchmarks.bases.records import CHARGE_IGNORED, POINTS, MoleculeBenchmark, failed, placed
from assay.data.dataset import Record
from assay.jobs import Band, Job, SinglePoints
from assay.outcome import FAILED, OK, Outcome
from assay.score import mean_score
from assay.survey import Survey
from assay.units import KCAL

BAND = "band"


@dataclass(frozen=True)
class ReactivityNeb(MoleculeBenchmark):
    """Nudged elastic bands; `force_limit` is in eV/Å."""

    kind, use = "reactions", "neb"
    metrics = (
        Metric("barrier_error", "kcal/mol", threshold=3.0),
        Metric("ts_rmsd", "Å", threshold=0.15),
        Metric("reaction_energy_error", "kcal/mol"),
        Metric("converged", "1", ideal=1.0),
        CHARGE_IGNORED,
    )
    worst_counts = True
    catches = (*MoleculeBenchmark.catches, "wrong_sign_forces")
    images: int = 9
    force_limit: float = 0.05
    steps: int = 500

    def obstacle(self, record: Record) -> str:
        """Atoms must keep their order, or there is no path between the structures."""
        first, top, last = (s.numbers.tolist() for s in ordered(record))
        return "" if first == top == last else "the structures list their atoms in different orders"

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """The band, and single points of the reference, which the benchmark of activation energies asks for too."""
        first, top, last = (placed(s, survey) for s in ordered(record))
        band = Band(first, last, through=top, images=self.images, force_limit=self.force_limit, steps=self.steps)
        return {BAND: band, POINTS: SinglePoints((first, top, last))}

    def context_of(self, record: Record) -> dict[str, object]:
        """Energies relative to the reactant (kcal/mol) and the transition state."""
        return {"reference": reference_energies(record), "top": ordered(record)[1].positions}

    def judge(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Height and place of the pass, compared."""
        outcome = outcomes[BAND]
        if outcome.status == FAILED:
            return failed(case, outcome.reason, {"converged": 0.0})
        band, reference = outcome.values, np.asarray(case.context["reference"])
        path, energies = np.asarray(band["positions"]), KCAL * np.asarray(band["energies"])
        detail = {
            "path": _lengths(path),
            "predicted": energies - energies[0],
            "reference": reference,
            "unit": "kcal/mol",
        }
        if not band["converged"]:
            reason = f"not converged after {band['steps']} steps, largest force {band['max_force']:.2g} eV/Å"
            return failed(case, reason, {"converged": 0.0}, detail)
        barrier, reaction = (KCAL * float(band[name]) for name in ("barrier", "reaction_energy"))
        values = {
            "barrier_error": abs(barrier - float(reference[1])),
            "ts_rmsd": superposed_rmsd(path[int(band["top"])], np.asarray(case.context["top"])),
            "reaction_energy_error": abs(reaction - float(reference[2])),
            "predicted_barrier": barrier,
            "reference_barrier": float(reference[1]),
            "predicted_reaction_energy": reaction,
            "reference_reaction_energy": float(reference[2]),
            "steps": float(band["steps"]),
            "converged": 1.0,
        }
        return Observation(case.id, OK, values, detail=detail)

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """The mean of each metric; the share that converged counts failed bands too."""
        known = [o.values["converged"] for o in observations if "converged" in o.values]
        return [
            metric_value(self._metric(value.name), observations, *mean_score(known))
            if value.name == "converged"
            else value
            for value in super().measure(observations)
        ]

    def _metric(self, name: str) -> Metric:
        return next(metric for metric in self.metrics if metric.name == name)


def _lengths(path: np.ndarray) -> np.ndarray:
    """How far (Å) each image is along the path."""
    steps = np.sqrt(((path[1:] - path[:-1]) ** 2).sum(axis=(1, 2)))
    return np.concatenate([[0.0], np.cumsum(steps)])
