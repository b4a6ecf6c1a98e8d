"""Bonds keep their lengths under thermal motion, and vibrate as much as they should.

A bond that is too long or too stiff spoils every vibration, every energy and every simulation with it. A mean deviation
alone cannot tell: a molecule that never moves has none.

Protocol: NVT at 300 K from the reference geometry. mean_deviation is the mean of |d − d_ref| over the frames, the
published metric; good up to 0.05 Å, or to what heat alone does to a softer bond of other data. It mixes two things,
which are reported apart: bias, the mean of d − d_ref, good up to what heat and a change of the level of theory do to a
bond, and fluctuation, the root mean square of d about its own mean. fluctuation_ratio is its ratio to sqrt(kT / k) for
a bond of this kind, fluctuation_error the size of the logarithm of that; good up to a factor of 1.4, which is two in
stiffness, or to twice its own standard error in a run too short to say more. The score of a bond is the worst of the
three; a bond three times too stiff or too soft gets about 0.15. A molecule that breaks, gets hot or stands still fails.
Reference: lengths of the data set; stiffness in GFN2-xTB for eight types of bonds, unless the data has its own.
Cite: MLIPAudit for mean_deviation and its threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.blocks import average
from assay.analysis.fluctuations import harmonic_spread, pooled, settled, spread
from assay.benchmark import Case, Metric, Observation
from assay.benchmarks.bases.records import CHARGE_IGNORED
from assay.benchmarks.bases.runs import STDERR, body_of, followed, mean_temperature, thinned
from assay.benchmarks.bases.thermal import FACTOR, FLUCTUATION, ThermalBenchmark
from assay.configurations import symbol
from assay.data.bond_types import BOND_TYPES, bond_type
from assay.data.dataset import Record
from assay.jobs import Watch
from assay.outcome import OK, Outcome

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

    def watched(self, record: Record) -> Watch:
        """The distance of the two atoms."""
        return Watch("distance", _bond(record))

    def context_of(self, record: Record) -> dict[str, object]:
        """The bond, its length (Å), and the fluctuation (Å) that heat gives it; None if nobody knows that."""
        structure, bond = record.structures[0], _bond(record)
        measured = float(np.linalg.norm(structure.positions[bond[0]] - structure.positions[bond[1]]))
        length = float(record.info.get("bond_length", measured))  # type: ignore[arg-type]
        ends = (symbol(int(structure.numbers[bond[0]])), symbol(int(structure.numbers[bond[1]])))
        kind = str(record.info.get("bond_type", "")) or bond_type(ends, length)
        stiffness = record.info.get("bond_stiffness", BOND_TYPES[kind].stiffness if kind in BOND_TYPES else None)
        expected = None if stiffness is None else harmonic_spread(float(stiffness), 300.0)  # type: ignore[arg-type]
        return {"body": body_of(structure), "bond": list(bond), "length": length, "expected": expected, "group": kind}

    def obstacle(self, record: Record) -> str:
        """Bonds of which nobody knows how stiff they are."""
        if self.context_of(record)["expected"] is None:
            return "nobody knows how stiff this bond is: its type is not known, and the data has no bond_stiffness"
        return ""

    def summary(self, case: Case, runs: Sequence[Outcome]) -> Observation:
        """Deviation, bias and fluctuation over all runs."""
        bond = [int(atom) for atom in case.context["bond"]]
        reference, expected = float(case.context["length"]), float(case.context["expected"])

        whole = [followed(run, lambda x: np.linalg.norm(x[:, bond[0]] - x[:, bond[1]], axis=1)) for run in runs]
        kept = settled(whole, self.drop_start)
        deviation = pooled([average(np.abs(d - reference)) for d in kept])
        mean = pooled([average(d) for d in kept])
        moved = spread([(d - d.mean()) ** 2 for d in kept], expected, self.amplitudes(kept))
        heat = mean_temperature(runs)
        values = {
            "mean_deviation": deviation.value,
            "bias": mean.value - reference,
            **moved.values(),
            "reference_length": reference,
            "expected_fluctuation": expected,
            "temperature": heat.value,
        }
        width = HALF_WIDTH * moved.value * moved.log_stderr  # one amplitude is no more known than the other
        errors = {
            "mean_deviation": max(deviation.stderr or 0.0, width),
            "bias": mean.stderr,
            "temperature": heat.stderr,
            **moved.errors(),
        }
        counts, edges = np.histogram(np.concatenate(kept), 40)
        detail = {STDERR: errors, "lengths": thinned(whole[0]), "histogram": counts, "edges": edges}
        limits = {"mean_deviation": max(PUBLISHED, HALF_WIDTH * moved.room * expected), **moved.tolerance(FACTOR)}
        return Observation(case.id, OK, values, detail=detail, tolerances=limits)


def _bond(record: Record) -> tuple[int, int]:
    bond = [int(atom) for atom in record.info["bond"]]  # type: ignore[attr-defined]
    return bond[0], bond[1]
