"""Structures that differ little from the first one: the calculator computes a sample, a batch that agrees all others.

Checks of derivatives need hundreds of structures, each displaced a little. They examine the calculator, so the first
structure is always its own, and a sample of the others decides whether the batch gives the same changes of energy and
forces within rounding. If it does, every change comes from the batch: a difference of two energies must not have one
from each, because each rounds in its own way. If it does not, the calculator computes all structures.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.compute.clock import cpu_seconds
from assay.compute.engines.batch_size import LADDER
from assay.compute.engines.pool import Pool, agree, first_batch
from assay.compute.protocols import carry_out
from assay.compute.protocols.single_points import run_single_points
from assay.errors import MachineFailure, ModelFailure
from assay.jobs import SinglePoints
from assay.outcome import Outcome, Point
from assay.structure import Structure

BATCH_ATOMS = LADDER[3]
"""Atoms in one batch at most."""

ENERGY_ULPS, FORCE_ULPS = 32.0, 256.0
"""Rounding of a change of the energy and of a force, in spacings of the numbers that are summed."""

RELATIVE = {"float64": 1e-9, "float32": 1e-5}
"""Two changes may also differ by this fraction: a hundred times less than what any check notices."""


class SampledEngine:
    """Runs jobs that name a sample of their structures for the calculator, of a model that supports batches."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def run(self, key: str, job: SinglePoints) -> Outcome:
        """The outcome of the job; where calculator and batch differ, that of the calculator alone, with the reason."""
        started, cpu = time.time(), cpu_seconds()
        points, why, given_up = self._points(job)
        if points:
            ending = carry_out(run_single_points(job), lambda _: points)
            outcome = Outcome(key, ending.status, ending.values, ending.reason, cause=ending.cause)
            batch: dict[str, object] = {"structures": len(points) - 1, "alone": 1, "compared": len(job.sample)}
        else:
            outcome = self.pool.single.run(key, job)
            batch = {"structures": 0, "alone": len(job.structures), "why_alone": why}
            batch |= {"given_up": why} if given_up else {}
        provenance = {
            "engine": "sampled",
            "started": started,
            "finished": time.time(),
            "cpu_seconds": round(cpu_seconds() - cpu, 6),
            "batch": batch,
        }
        return replace(outcome, provenance=provenance)

    def _points(self, job: SinglePoints) -> tuple[list[Point], str, bool]:
        """Points of all structures; or none, with the reason, and whether that is a fault of the batch."""
        try:
            alone = {i: self.pool.single.evaluate(job.structures[i]) for i in job.sample}
        except (ModelFailure, MachineFailure) as failure:
            return [], f"the calculator does not answer: {failure}", False
        together, reason = points_in_batches(self.pool, job.structures)
        if reason:
            return [], reason, True
        if why := disagreement(alone, together, job.sample[0], self.pool.single.used.get("precision", "")):
            return [], why, True
        return _as_changes(alone, together, job.sample[0]), "", False


def points_in_batches(pool: Pool, structures: Sequence[Structure]) -> tuple[list[Point], str]:
    """Points of all structures from batches, or the reason why one of them has none."""
    together: list[Point] = []
    while len(together) < len(structures):
        batch = [structures[i] for i in first_batch(range(len(together), len(structures)), structures, BATCH_ATOMS)]
        points, reason, _ = pool.evaluated(batch)
        usable = [point for point in points or () if point is not None]
        if len(usable) < len(batch):
            return [], reason
        together += usable
    return together, ""


def rounds_to_single(points: Iterable[Point]) -> bool:
    """True if all energies of a calculator are numbers of single precision."""
    return all(float(np.float32(point.energy)) == point.energy for point in points)


def disagreement(alone: Mapping[int, Point], together: Sequence[Point], first: int, precision: str) -> str:
    """How the batch differs from the calculator by more than rounding; empty if it does not.

    Compared are the changes of energy (eV) and forces (eV/Å) from the structure `first` to each other one.
    """
    kind = "float64" if precision == "float64" else "float32"
    epsilon, base, base_together = float(np.finfo(kind).eps), alone[first], together[first]
    if not agree(base, base_together):
        return f"an energy in a batch and alone differ by {abs(base.energy - base_together.energy):.2g} eV"
    for i, point in alone.items():
        size = max(float(np.abs(p.forces).max()) for p in (base, point))
        energy, forces = point.energy - base.energy, point.forces - base.forces
        energy_error = abs(energy - (together[i].energy - base_together.energy))
        force_error = float(np.abs(forces - (together[i].forces - base_together.forces)).max())
        rounding = epsilon * (abs(base.energy) + size + len(forces))
        if energy_error > ENERGY_ULPS * rounding + RELATIVE[kind] * abs(energy):
            return f"a change of the energy in a batch and alone differs by {energy_error:.2g} eV"
        if force_error > FORCE_ULPS * epsilon * (1.0 + size) + RELATIVE[kind] * float(np.abs(forces).max()):
            return f"a change of the forces in a batch and alone differs by {force_error:.2g} eV/Å"
    return ""


def _as_changes(alone: Mapping[int, Point], together: Sequence[Point], first: int) -> list[Point]:
    """The point `first` of the calculator, and all others as that point plus the change in the batch.

    Energies that the calculator rounds to single precision are rounded here too: a check may have to find that.
    """
    base, base_together = alone[first], together[first]
    coarse = rounds_to_single(alone.values())
    points = []
    for point in together:
        energy = base.energy + (point.energy - base_together.energy)
        forces = base.forces + (point.forces - base_together.forces)
        points.append(replace(point, energy=float(np.float32(energy)) if coarse else energy, forces=forces))
    points[first] = base
    return points
