"""Aromatic rings stay flat under thermal motion, and bend as much as they should.

Aromatic rings are flat because their electrons are shared; a potential that lets them pucker gets stacking, binding and
hydrogen bonds wrong. One that holds them rigid is wrong, too, and so is one that lets nothing move.

Protocol: NVT at 300 K from the reference geometry. A molecule that breaks, heats up or does not move fails.
- plane_rmsd_mean: mean over the frames of the root mean square distance of the ring atoms from their best plane
  (principal components), the published metric. Good up to 0.05 Å, or to what heat alone may do to a ring in a run of
  this length if that is more, as in purine.
- literal_score: the score of that distance over all frames with 0.05 Å for all rings (reported); 0 for a run that
  stopped. The publication calls 0.3 Å the limit of a flat ring.
- fluctuation: root mean square of the same distance; fluctuation_ratio is its ratio to that of a harmonic ring,
  fluctuation_error the absolute logarithm of that ratio. Good up to a factor of 1.4, or to twice its own standard error
  in a short run.
- Score of a ring: the worse of plane_rmsd_mean and fluctuation_error.
Reference: flat rings; harmonic GFN2-xTB for six rings, and for others the ring of the same size.
Cite: MLIPAudit for plane_rmsd_mean and its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.planes import plane_rmsd
from assay.analysis.thermal import plane_averages, unresolved
from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE_IGNORED, LITERAL
from assay.benchmarks.bases.runs import (
    body_of,
    failed_run,
    followed,
    marked_unresolved,
    mean_temperature,
    runs_of,
    thinned,
    times,
)
from assay.benchmarks.bases.thermal import FACTOR, FLUCTUATION, ThermalBenchmark, literal_mean, thermal_plots
from assay.data.dataset import Record
from assay.jobs import Dynamics, Watch
from assay.observation import Metric, Observation
from assay.outcome import OK, Outcome

FLAT = 0.05
BY_SIZE: Mapping[int, float] = {4: 0.02, 5: 0.0245, 6: 0.0365, 9: 0.0558}
"""Root mean square distance (Å) from the plane at 300 K, by ring atoms: of five- and six-rings and of purine in
GFN2-xTB (data_generation/fluctuations.py)."""


@dataclass(frozen=True)
class RingPlanarity(ThermalBenchmark):
    """The distance of ring atoms from their plane."""

    version = 2
    kind = "rings"
    metrics = (
        Metric("plane_rmsd_mean", "Å", threshold=FLAT),
        *FLUCTUATION,
        LITERAL,
        CHARGE_IGNORED,
    )
    plots = thermal_plots("plane_rmsd", "distance from the plane")

    def watched(self, context: Mapping[str, Any]) -> Watch:
        """The distance of the ring atoms from their plane."""
        ring = tuple(int(atom) for atom in context["ring"])
        return Watch("plane", ring, expected=float(context["expected"]), drop_start=self.drop_start)

    def context_of(self, record: Record) -> dict[str, object]:
        """The ring, and how far (Å) heat moves its atoms out of the plane."""
        ring = _ring(record)
        size = min(BY_SIZE, key=lambda count: abs(count - len(ring)))
        expected = float(record.info.get("plane_fluctuation", BY_SIZE[size]))  # type: ignore[arg-type]
        return {"body": body_of(record.structures[0]), "ring": ring, "expected": expected}

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """The score of the mean distance over all frames, the start included."""
        ring = [int(i) for i in case.context["ring"]]
        return literal_mean(runs_of(outcomes), lambda positions: plane_rmsd(positions[:, ring]), FLAT)

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Mean and root mean square distance over all runs."""
        runs, ring = runs_of(outcomes), [int(i) for i in case.context["ring"]]
        if (end := failed_run(case, runs)) is not None:
            return end
        expected = float(case.context["expected"])
        whole = [followed(run, lambda positions: plane_rmsd(positions[:, ring])) for run in runs]
        (mean, moved, kept), heat = (
            plane_averages(whole, self.watched(case.context), self.spacing, Dynamics.friction),
            mean_temperature(runs),
        )
        values = {
            "plane_rmsd_mean": mean.value,
            **moved.values(),
            "expected_fluctuation": expected,
            "temperature": heat.value,
        }
        errors = {"plane_rmsd_mean": mean.stderr, "temperature": heat.stderr, **moved.errors()}
        counts, edges = np.histogram(np.concatenate(kept), 40)
        series = {"time": thinned(times(runs[0])), "plane_rmsd": thinned(whole[0])}
        detail = {**series, "histogram": counts, "edges": edges}
        limits = {"plane_rmsd_mean": max(FLAT, moved.allowed_factor * expected), **moved.tolerance(FACTOR)}
        poor = {
            "plane_rmsd_mean": unresolved(mean.value, mean.stderr, max(FLAT, expected), limits["plane_rmsd_mean"]),
            "fluctuation_error": unresolved(abs(moved.log_ratio), moved.log_stderr, FACTOR),
        }
        seen = Observation(case.id, OK, values, detail=detail, tolerances=limits, stderr=errors)
        seen = marked_unresolved(seen, [name for name, is_poor in poor.items() if is_poor])
        return failed_run(case, runs, seen) or seen


def _ring(record: Record) -> list[int]:
    return [int(atom) for atom in record.info["ring"]]  # type: ignore[attr-defined]
