"""The energy of two bodies far apart is the sum of their energies.

Twice the matter has twice the energy. Tails that never end break this, and so do normalisations by the number of atoms,
attention over all of them and charges that spread over a whole system.

Protocol: bodies alone and together, in the same places and in the same cell. A model whose energy or forces do not
change when a body is squeezed or stretched by 8 % fails: no bodies, no sum.
- energy_difference: |E(both) − E(first) − E(second)| of two (111) slabs of 36 atoms, four layers each, with 100 Å of
  vacuum on both sides. Both have the in-plane lattice of the first. Three pairs of close-packed metals with the least
  misfit (up to 5 %; Ag and Au have 0.3 %), or the best pair at 100, 120 and 150 Å. Models without two metals get slabs
  of what they have; those without periodic systems acetone and stretched acetone, or two clusters.
- energy_difference_per_atom: the same per atom (reported).
- copies_energy_difference: |E(8 copies) − 8 E(one)| of acetone, or of a cluster of all species, on a grid 100 Å apart.
- Score of a case: 1 up to 1 meV, or what the noise and rounding of the model allow.
Reference: exact additivity.
Cite: ML-PEG benchmark Extensivity, whose slabs do not fit their cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.benchmark import Benchmark, Case, Metric, Observation, Plot, Scope, failed
from assay.benchmarks.bases.limits import raised_threshold
from assay.benchmarks.bases.points import first_refusal
from assay.benchmarks.builders.slabs import Parts, copies, molecule_pairs, slab_pairs
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.outcome import OK, Outcome, Point
from assay.structure import Structure
from assay.survey import Survey

WITNESS = (0.92, 1.08)
"""Scales at which the energy of a body must be another one."""

COPIES, TIMES = "copies", 2
"""Name of the case with copies, and how many there are along each direction."""


@dataclass(frozen=True)
class Extensivity(Benchmark):
    """Energies of separate bodies add up. `gaps` are the thicknesses of the vacuum (Å)."""

    metrics = (
        Metric("energy_difference", "meV", threshold=1.0, cases=("*-*",)),
        Metric("energy_difference_per_atom", "meV/atom", cases=("*-*",)),
        Metric("copies_energy_difference", "meV", threshold=1.0, cases=(COPIES,)),
    )
    plots = (Plot("scatter", "difference", "gap", "energy of the whole minus its parts", "gap (Å)", "energy (meV)"),)
    catches = ("long_range_tail", "size_dependent", "zero_force", "constant_energy", "frozen", "raises")
    gaps: tuple[float, ...] = (100.0, 120.0, 150.0)
    size: int = 3
    layers: int = 4

    def __post_init__(self) -> None:
        if not self.gaps or min(self.gaps) <= 0.0 or self.size < 1 or self.layers < 1:
            asked = f"gaps '{self.gaps}', size '{self.size}' and layers '{self.layers}'"
            raise AssayError(f"slabs cannot have {asked}; give gaps above 0 Å, one atom per edge and one layer or more")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """The pairs of bodies, then the copies."""
        if {"TTT", "TTF"} & set(scope.survey.pbc):
            pairs = slab_pairs(scope.survey, self.gaps, self.size, self.layers)
        else:
            pairs = molecule_pairs(scope.survey, self.gaps)
        yield from map(_pair_case, pairs)
        if pairs:
            yield _copies_case(scope.survey, self.gaps[0])

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The energy of the whole minus those of its parts (meV)."""
        points, witnesses = (outcomes[role].points() for role in ("points", "witness"))
        if refused := first_refusal(points):
            return failed(case, refused)
        energies = [p.energy for p in points]
        allowed = raised_threshold(case, 1.0, "energy", max(abs(e) for e in energies))
        if silent := _silent(case, energies[0], witnesses, allowed):
            return failed(case, silent)
        difference = 1e3 * abs(energies[-1] - float(np.dot(case.context["times"], energies[:-1])))
        name = "copies_energy_difference" if case.id == COPIES else "energy_difference"
        values = {name: difference}
        if case.id != COPIES:
            values["energy_difference_per_atom"] = difference / len(points[-1].forces)
        detail = {**case.context, "energies": np.array(energies), "limit": allowed, "difference": difference}
        return Observation(case.id, OK, values, str(case.context["said"]), detail, {name: allowed})


def _silent(case: Case, energy: float, witnesses: Sequence[Point], allowed: float) -> str:
    """Why the sum proves nothing: the body does not feel that it is squeezed and stretched. Empty if it does."""
    answered = [p for p in witnesses if p.ok]
    if not answered:
        return f"squeezed or stretched by 8 %: {first_refusal(witnesses)}"
    if 1e3 * max(abs(p.energy - energy) for p in answered) <= allowed:
        return "the energy does not change when a body is squeezed or stretched by 8 %"
    if 1e3 * max(float(np.abs(p.forces).max()) for p in answered) <= raised_threshold(case, 0.1, "force", 0.0):
        return "there are no forces in a body that is squeezed or stretched by 8 %"
    return ""


def _witness(body: Structure) -> SinglePoints:
    return SinglePoints(tuple(body.transformed(scale * np.eye(3)) for scale in WITNESS))


def _pair_case(parts: Parts) -> Case:
    jobs = {"points": SinglePoints((parts.first, parts.second, parts.both())), "witness": _witness(parts.first)}
    context = {"times": [1.0, 1.0], "gap": parts.gap, "said": parts.said}
    return Case(f"{parts.label}-{parts.gap:.0f}", jobs, context)


def _copies_case(survey: Survey, gap: float) -> Case:
    found = copies(survey, TIMES, gap)
    if isinstance(found, str):
        return Case(COPIES, {}, failure=found)
    name, one, many = found
    context = {"times": [float(TIMES**3)], "gap": gap, "said": f"copies of {name}"}
    return Case(COPIES, {"points": SinglePoints((one, many)), "witness": _witness(one)}, context)
