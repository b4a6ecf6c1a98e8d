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
- literal_score: the score of |d − d_ref| over all frames with 0.05 Å, as published (reported); 0 for a run that
  stopped, 1 for a molecule that never moves.
- Score of a bond: the worst of mean_deviation, bias and fluctuation_error; about 0.15 for a bond three times too stiff
  or too soft.
Reference: lengths of the data set; stiffness in GFN2-xTB for eight types of bonds, unless the data has its own.
Cite: MLIPAudit for mean_deviation and its threshold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.analysis.fluctuations import harmonic_spread
from assay.analysis.thermal import HALF_WIDTH, LengthAverages, length_averages, unresolved
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
from assay.configurations import symbol
from assay.data.bond_types import BOND_TYPES, bond_type
from assay.data.dataset import Record
from assay.jobs import Dynamics, Watch
from assay.observation import Metric, Observation
from assay.outcome import OK, Outcome
from assay.structure import Floats
from assay.survey import Survey

PUBLISHED, BIAS = 0.05, 0.03


@dataclass(frozen=True)
class BondLengths(ThermalBenchmark):
    """The length of one bond of each molecule."""

    version = 2
    kind = "bonds"
    metrics = (
        Metric("mean_deviation", "Å", threshold=PUBLISHED),
        Metric("bias", "Å", threshold=BIAS),
        *FLUCTUATION,
        LITERAL,
        CHARGE_IGNORED,
    )
    plots = thermal_plots("lengths", "bond length")

    def watched(self, context: Mapping[str, Any]) -> Watch:
        """The distance of the two atoms."""
        first, second = map(int, context["bond"])
        return Watch("distance", (first, second), float(context["length"]), float(context["expected"]), self.drop_start)

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

    def literal(self, case: Case, outcomes: Mapping[str, Outcome]) -> float | None:
        """The score of the mean deviation over all frames, the start included."""
        reference = float(case.context["length"])
        return literal_mean(runs_of(outcomes), lambda x: np.abs(self._lengths(case, x) - reference), PUBLISHED)

    def _lengths(self, case: Case, positions: Floats) -> Floats:
        """The length of the bond (Å) in each frame."""
        i, j = map(int, case.context["bond"])
        return np.asarray(np.linalg.norm(positions[:, i] - positions[:, j], axis=1))

    def compare(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Deviation, bias and fluctuation over all runs."""
        runs = runs_of(outcomes)
        if (end := failed_run(case, runs)) is not None:
            return end
        reference, expected = float(case.context["length"]), float(case.context["expected"])
        whole = [followed(run, lambda x: self._lengths(case, x)) for run in runs]
        found, heat = (
            length_averages(whole, self.watched(case.context), self.spacing, Dynamics.friction),
            mean_temperature(runs),
        )
        bias = found.mean.value - reference
        lengths = {"mean_deviation": found.deviation.value, "bias": bias, "reference_length": reference}
        values = {**lengths, **found.moved.values(), "expected_fluctuation": expected, "temperature": heat.value}
        errors = {
            "mean_deviation": found.deviation.stderr,
            "bias": found.mean.stderr,
            "temperature": heat.stderr,
            **found.moved.errors(),
        }
        counts, edges = np.histogram(np.concatenate(found.kept), 40)
        series = {"time": thinned(times(runs[0])), "lengths": thinned(whole[0])}
        detail = {**series, "histogram": counts, "edges": edges}
        limits = {
            "mean_deviation": max(PUBLISHED, HALF_WIDTH * found.moved.allowed_factor * expected),
            **found.moved.tolerance(FACTOR),
        }
        seen = Observation(case.id, OK, values, detail=detail, tolerances=limits, stderr=errors)
        seen = marked_unresolved(seen, _unresolved(found, bias, expected, limits["mean_deviation"]))
        return failed_run(case, runs, seen) or seen


def _unresolved(found: LengthAverages, bias: float, expected: float, allowed: float) -> list[str]:
    """Scored values that the runs are too short to judge; heat alone gives a bond 0.8 of its expected fluctuation."""
    good = max(PUBLISHED, HALF_WIDTH * expected)
    poor = {
        "mean_deviation": unresolved(found.deviation.value, found.deviation.stderr, good, allowed),
        "bias": unresolved(abs(bias), found.mean.stderr, BIAS),
        "fluctuation_error": unresolved(abs(found.moved.log_ratio), found.moved.log_stderr, FACTOR),
    }
    return [name for name, is_poor in poor.items() if is_poor]


def _bond(record: Record) -> tuple[int, int]:
    bond = [int(atom) for atom in record.info["bond"]]  # type: ignore[attr-defined]
    return bond[0], bond[1]
