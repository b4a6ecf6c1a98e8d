"""Minimum-energy paths: the saddle point that the model itself finds between reactant and product.

A single point at a known saddle point says how high the model is there, not whether it has a saddle point there.

Protocol: a nudged elastic band with improved tangents and a climbing image between reactant and product, which are both
relaxed first. It starts through the transition state of the reference and ends when the largest force is below
0.05 eV/Å. A band that does not converge fails, and so does a model whose energy or forces never change: it would leave
the band where it started, on the reference itself.
- barrier_error: error of the energy of the highest image above the first.
- ts_rmsd: distance of its atoms from the reference transition state after superposition.
- reaction_energy_error: error of the energy of the product above the reactant (reported).
- converged: the share of bands that converged (reported).
- barrier_rmse: root mean square of barrier_error over all reactions (reported).
- literal_score: 1 for a band that converged, the published score (reported). It is also 1 for a model without forces.
- Score of a reaction: the worse of barrier_error and ts_rmsd.
Reference: that of the data set, named with its level of theory in every result.
Cite: Grambow, Pattanaik and Green (2020); Henkelman and Jónsson (2000); MLIPAudit, which asks for convergence only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.superposition import superposed_rmsd
from assay.benchmark import Case, failed
from assay.benchmarks.bases.reactions import ordered, reference_energies
from assay.benchmarks.bases.records import CHARGE_IGNORED, LITERAL, POINTS, RecordBenchmark
from assay.data.dataset import Record
from assay.jobs import Band, Job, SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import FAILED, OK, Outcome
from assay.structure import Floats
from assay.survey import Survey
from assay.units import KCAL

BAND = "band"
AXES = ("reference (kcal/mol)", "model (kcal/mol)")


@dataclass(frozen=True)
class ReactivityNeb(RecordBenchmark):
    """Nudged elastic bands; `force_limit` is in eV/Å."""

    version = 2
    kind, use = "reactions", "neb"
    metrics = (
        Metric("barrier_error", "kcal/mol", threshold=3.0),
        Metric("ts_rmsd", "Å", threshold=0.15),
        Metric("reaction_energy_error", "kcal/mol"),
        Metric("barrier_rmse", "kcal/mol", rms_of="barrier_error"),
        Metric("converged", "1", ideal=1.0, counts_failed=True),
        LITERAL,
        CHARGE_IGNORED,
    )
    plots = (
        Plot("curve", "predicted", "path", "energy along the band", "length of the path (Å)", "energy (kcal/mol)"),
        Plot("parity", "predicted_barrier", "reference_barrier", "barriers", *AXES),
    )
    worst_counts = True
    catches = (*RecordBenchmark.catches, "wrong_sign_forces")
    images: int = 9
    force_limit: float = 0.05
    steps: int = 500

    def obstacle(self, record: Record, survey: Survey) -> str:
        """Atoms must keep their order, or there is no path between the structures."""
        first, top, last = (s.numbers.tolist() for s in ordered(record))
        return "" if first == top == last else "the structures list their atoms in different orders"

    def jobs_of(self, record: Record, survey: Survey) -> dict[str, Job]:
        """The band, and single points of the reference, which `reactivity_tst` asks for too."""
        first, top, last = (survey.placed(s) for s in ordered(record))
        band = Band(first, last, through=top, images=self.images, force_limit=self.force_limit, steps=self.steps)
        return {BAND: band, POINTS: SinglePoints((first, top, last))}

    def context_of(self, record: Record) -> dict[str, object]:
        """Energies relative to the reactant (kcal/mol) and the transition state."""
        return {"reference": reference_energies(record), "top": ordered(record)[1].positions}

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """Whether the band converged, and nothing else."""
        outcome = outcomes[BAND]
        return float(outcome.status == OK and bool(outcome.values["converged"]))

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Height and place of the saddle point."""
        outcome, reference = outcomes[BAND], np.asarray(case.context["reference"])
        if outcome.status == FAILED:
            return failed(case, outcome.reason, {"converged": 0.0}, cause=outcome.cause)
        band = outcome.values
        path, energies = np.asarray(band["positions"]), KCAL * np.asarray(band["energies"])
        curve = {"path": _lengths(path), "predicted": energies - energies[0]}
        detail = {**curve, "reference": reference, "unit": "kcal/mol"}
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


def _lengths(path: Floats) -> Floats:
    """How far (Å) each image is along the path."""
    steps = np.sqrt(((path[1:] - path[:-1]) ** 2).sum(axis=(1, 2)))
    return np.concatenate([[0.0], np.cumsum(steps)])
