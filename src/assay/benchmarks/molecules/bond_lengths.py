"""Bonds keep their lengths under thermal motion, and vibrate as much as they should.

A bond that is too long or too stiff spoils every vibration, every energy and every simulation with it. A mean deviation
alone cannot tell: a molecule that never moves has none.

Protocol: NVT at 300 K from the reference geometry. A molecule that breaks, heats up or does not move fails.
- mean_deviation: mean of |d − d_ref| over the frames, the published metric. Good up to 0.05 Å, or to what heat alone
  does to a softer bond of other data.
- bias: mean of d − d_ref. Good up to 0.03 Å, what heat and a change of the level of theory do to a bond.
- fluctuation: root mean square of d about its own mean; fluctuation_ratio is its ratio to sqrt(kT / k) for a bond of
  this type, fluctuation_error the absolute logarithm of that ratio. Good up to a factor of 1.4, which is two in
  stiffness, or to twice its own standard error in a short run.
- Score of a bond: the worst of mean_deviation, bias and fluctuation_error; about 0.15 for a bond three times too stiff
  or too soft.
Reference: lengths of the data set; stiffness in GFN2-xTB for eight types of bonds, unless the data has its own.
Cite: MLIPAudit for mean_deviation and its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.blocks import average
from assay.analysis.fluctuations import harmonic_spread, pooled, spread, without_warm_up
from assay.benchmark import Case
from assay.benchmarks.bases.records import CHARGE_IGNORED
from assay.benchmarks.bases.runs import body_of, failed_run, followed, mean_temperature, runs_of, thinned, times
from assay.benchmarks.bases.thermal import FACTOR, FLUCTUATION, ThermalBenchmark, thermal_plots
from assay.configurations import symbol
from assay.data.bond_types import BOND_TYPES, bond_type
from assay.data.dataset import Record
from assay.jobs import Watch
from assay.observation import Metric, Observation
from assay.outcome import OK, Outcome
from assay.survey import Survey

PUBLISHED = 0.05
HALF_WIDTH = 0.8
"""The mean distance from the middle of a normal distribution, as a part of its root mean square."""


@dataclass(frozen=True)
class BondLengths(ThermalBenchmark):
    """The length of one bond of each molecule."""

    kind = "bonds"
    metrics = (
        Metric("mean_deviation", "Å", threshold=PUBLISHED),
        Metric("bias", "Å", threshold=0.03),
        *FLUCTUATION,
        CHARGE_IGNORED,
    )
    plots = thermal_plots("lengths", "bond length")

    def watched(self, record: Record) -> Watch:
        """The distance of the two atoms."""
        return Watch("distance", _bond(record))

    def context_of(self, record: Record) -> dict[str, object]:
        """The bond, its length (Å), and the fluctuation (Å) that heat gives it; None if that is not known."""
        structure, bond = record.structures[0], _bond(record)
        measured = float(np.linalg.norm(structure.positions[bond[0]] - structure.positions[bond[1]]))
        length = float(record.info.get("bond_length", measured))  # type: ignore[arg-type]
        ends = (symbol(int(structure.numbers[bond[0]])), symbol(int(structure.numbers[bond[1]])))
        kind = str(record.info.get("bond_type", "")) or bond_type(ends, length)
        stiffness = record.info.get("bond_stiffness", BOND_TYPES[kind].stiffness if kind in BOND_TYPES else None)
        expected = None if stiffness is None else harmonic_spread(float(stiffness), 300.0)  # type: ignore[arg-type]
        return {"body": body_of(structure), "bond": list(bond), "length": length, "expected": expected, "group": kind}

    def obstacle(self, record: Record, survey: Survey) -> str:
        """Bonds of unknown stiffness cannot be judged."""
        known = self.context_of(record)["expected"] is not None
        return "" if known else "the stiffness of this bond is unknown: give bond_type or bond_stiffness in the data"

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Deviation, bias and fluctuation over all runs."""
        runs, (i, j) = runs_of(outcomes), map(int, case.context["bond"])
        if (end := failed_run(case, runs)) is not None:
            return end
        reference, expected = float(case.context["length"]), float(case.context["expected"])
        whole = [followed(run, lambda x: np.linalg.norm(x[:, i] - x[:, j], axis=1)) for run in runs]
        kept = without_warm_up(whole, self.drop_start)
        deviation = pooled([average(np.abs(d - reference)) for d in kept])
        mean, heat = pooled([average(d) for d in kept]), mean_temperature(runs)
        moved = spread([(d - d.mean()) ** 2 for d in kept], expected, self.amplitudes(kept))
        lengths = {"mean_deviation": deviation.value, "bias": mean.value - reference, "reference_length": reference}
        values = {**lengths, **moved.values(), "expected_fluctuation": expected, "temperature": heat.value}
        width = HALF_WIDTH * moved.value * moved.log_stderr  # the deviation is known no better than the amplitude
        errors = {
            "mean_deviation": max(deviation.stderr or 0.0, width),
            "bias": mean.stderr,
            "temperature": heat.stderr,
            **moved.errors(),
        }
        counts, edges = np.histogram(np.concatenate(kept), 40)
        series = {"time": thinned(times(runs[0])), "lengths": thinned(whole[0])}
        detail = {**series, "histogram": counts, "edges": edges}
        limits = {
            "mean_deviation": max(PUBLISHED, HALF_WIDTH * moved.allowed_factor * expected),
            **moved.tolerance(FACTOR),
        }
        seen = Observation(case.id, OK, values, detail=detail, tolerances=limits, stderr=errors)
        return failed_run(case, runs, seen) or seen


def _bond(record: Record) -> tuple[int, int]:
    bond = [int(atom) for atom in record.info["bond"]]  # type: ignore[attr-defined]
    return bond[0], bond[1]
