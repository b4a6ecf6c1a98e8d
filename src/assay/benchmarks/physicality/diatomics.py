"""Two atoms, pulled apart and pushed together: the energy curve of every pair of elements.

A pair curve has one well, a wall towards zero distance and a rise to the free atoms. Bumps, false minima and holes in
it mean wrong chemistry in a gas, and atoms that fuse in a hot simulation; a model shows them where it has no data.

Protocol: every pair of the model's elements at 100 even distances of 0.18 to 6.0 Å without a cell, or in a cube 24 Å
wider than the longest distance for models that support only periodic systems. Models that take a spin get charge 0 and
the lowest multiplicity that the number of electrons allows. E is relative to the longest distance, f the force along
the bond, positive if repulsive. Of a tail where the force is exactly zero only the first point counts, so that a short
cutoff costs nothing. A pair fails if more than a tenth of its points are refused or NaN, or if its energy or force is
flat over all distances. Two atoms form a bond unless one is a noble gas or both have a closed s shell (Be, Mg, Ca, Sr,
Ba, Ra, Zn, Cd, Hg, Cn, Mn, Yb, No). Pairs without a bond may be without a well: a count of 0 is then as good as 1.
Where 0 is as good, the tolerance of the case is 1 instead of 0.5.
- force_flips: sign changes of f without |f| ≤ 0.01 eV/Å, ideally 1.
- energy_minima: minima at least 0.1 eV deep, ideally 1.
- energy_inflections: sign changes of E'' by differences without |E''| ≤ 0.5 eV/Å², ideally 1. 0 is as good for a soft
  well that has one inflection without |E''| below a twentieth of the curvature at its minimum.
- spearman_repulsion: rank correlation of r and E up to the lowest point, ideally −1; +1 for a curve without a wall.
- spearman_attraction: the same from the lowest point on, ideally 1; −1 for a curve that only repels and should bind.
- force_energy_gap: 0 to 1, largest relative difference of f and −dE/dr where the grid resolves both (reported).
- short_range_hole: 1 if E falls by more than 0.1 eV on the way in from half the sum of the covalent radii (reported).
- bond_length_error, well_depth_error, frequency_error: against measured molecules (reported).
- refused_fraction: share of points without an answer (reported).
- Score of a pair: the mean over the first five. A curve that only repels gets 0.23 (0.42 if it bends once). The others
  depend on the level of theory or belong to other checks.
Reference: none for the five; measured constants of 30 molecules for the bonds (Huber and Herzberg 1979).
Cite: the pair curves of ML-PEG and MLIP Arena.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from assay.analysis.curves import has_soft_inflection, pair_shape
from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.bonding import pair_binds
from assay.benchmarks.bases.diatomic_constants import bond_errors
from assay.benchmarks.bases.points import refusals, too_few
from assay.configurations import radius, symbol
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.structure import Floats, Structure
from assay.survey import Survey, sample_species

FORCE_FLOOR, ENERGY_FLOOR = 0.01, 1e-3
"""What counts as no force (eV/Å) and as no change of energy (eV)."""

VACUUM = 24.0
"""Å from an atom at the longest distance to the next image."""

ROUNDING = 1e-7
"""Energies are rounded to this part of their size in single precision."""

INFLECTIONS = "energy_inflections"
COUNTS = ("force_flips", "energy_minima", INFLECTIONS)
"""What a curve with one well has once."""

HOLE_REACH = 0.5
"""Sums of covalent radii from which on a hole is looked for, closer than any known bond."""


@dataclass(frozen=True)
class Diatomics(Benchmark):
    """Shape of the energy curve of every pair of elements. `species` is "all" or, for quick suites, "sample"."""

    metrics = (
        *(Metric(name, "1", threshold=0.5, ideal=1.0) for name in COUNTS),
        Metric("spearman_repulsion", "1", threshold=0.1, ideal=-1.0),
        Metric("spearman_attraction", "1", threshold=0.1, ideal=1.0),
        Metric("force_energy_gap", "1"),
        Metric("short_range_hole", "1"),
        Metric("refused_fraction", "1"),
        Metric("bond_length_error", "Å"),
        Metric("well_depth_error", "eV"),
        Metric("frequency_error", "cm⁻¹"),
    )
    plots = (
        Plot("curve", "energies", "distances", "pair curve", "distance (Å)", "energy (eV)"),
        Plot("matrix", "energy_minima", title="minima of each pair"),
    )
    version = 2
    needs_noise = False
    catches = (
        "only_repels", "soft_core_hole", "wiggly", "zero_force", "constant_energy", "frozen", "nan_for_one_species",
        "refuses_claimed_species", "raises",
    )  # fmt: skip
    points: int = 100
    shortest: float = 0.18
    longest: float = 6.0
    species: str = "all"

    def __post_init__(self) -> None:
        if self.species not in ("all", "sample"):
            raise AssayError(f"diatomics of species '{self.species}' are unknown; choose 'all' or 'sample'")
        if self.points < 10 or not 0.0 < self.shortest < self.longest:
            grid = f"'{self.points}' points from '{self.shortest}' to '{self.longest}' Å"
            raise AssayError(f"diatomics cannot have {grid}; give 10 points or more and rising distances")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case and one job for each pair, named by rising atomic number, such as "H-C"."""
        survey = scope.survey
        box = 0.0 if "FFF" in survey.pbc or not survey.pbc else self.longest + VACUUM
        positions = np.zeros((self.points, 2, 3))
        positions[:, 1, 2] = np.linspace(self.shortest, self.longest, self.points)
        places, cell = list(positions), box * np.eye(3)  # shared by all pairs, which may be thousands
        for pair in combinations_with_replacement(self._elements(survey), 2):
            yield self._case(pair, survey, places, cell)

    def _elements(self, survey: Survey) -> list[int]:
        if self.species == "all":
            return sorted(set(survey.species))
        # Claimed elements that the model refused are no subjects of the survey, and must not be passed over.
        checked = {z for subject in survey.subjects for z in subject.numbers}
        return sorted(checked | set(sample_species(survey.species, all_species=False)))

    def _case(self, pair: tuple[int, int], survey: Survey, places: list[Floats], cell: Floats) -> Case:
        name = "-".join(symbol(z) for z in pair)
        if lost := next((survey.lost[z] for z in pair if z in survey.lost), ""):
            return Case(name, {}, lost=lost)
        spin = 1 + sum(pair) % 2 if survey.card.spin else None
        charge, pbc, numbers = None if spin is None else 0, (bool(cell.any()),) * 3, np.array(pair, dtype=np.int64)
        structures = tuple(Structure(numbers, place, cell, pbc, charge, spin) for place in places)
        grid = {"grid": [self.shortest, self.longest, self.points], "hole_reach": HOLE_REACH * sum(map(radius, pair))}
        box = f"cube of {cell[0, 0]:g} Å" if cell.any() else "none"
        context = {
            **grid,
            "binds": pair_binds(*pair),
            "cell": box,
            "multiplicity": "not given" if spin is None else spin,
        }
        return Case(name, {"scan": SinglePoints(structures)}, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The shape of the curve; failed if too many points are missing or if the atoms do not feel each other."""
        points = outcomes["scan"].points()
        shortest, longest, count = case.context["grid"]
        distance = np.linspace(float(shortest), float(longest), int(count))
        energy = np.array([p.energy if p.ok else np.nan for p in points])
        force = np.array([p.forces[1, 2] if p.ok else np.nan for p in points])
        free = next((p.energy for p in reversed(points) if p.ok), 0.0)
        detail: dict[str, object] = {"distances": distance, "energies": energy - free, "forces": force}
        detail |= {key: case.context[key] for key in ("multiplicity", "cell")}
        if reason := too_few(points):
            return failed(case, reason, detail=detail)
        known = np.isfinite(energy)
        if np.ptp(energy[known]) <= ENERGY_FLOOR or np.abs(force[known]).max() <= FORCE_FLOOR:
            flat = "energy" if np.ptp(energy[known]) <= ENERGY_FLOOR else "force"
            return failed(case, f"no interaction at any distance: flat {flat}", detail=detail)
        seen = self._shape(case, distance[known], energy[known] - free, force[known], free)
        reasons = [reason for reason in (refusals(points), seen.reason) if reason]
        values = {**seen.values, "refused_fraction": float(1.0 - known.mean())}
        return replace(seen, values=values, reason="; ".join(reasons), detail={**detail, **seen.detail})

    def _shape(self, case: Case, distance: Floats, energy: Floats, force: Floats, free: float) -> Observation:
        """The metrics of a curve (eV, relative to its end, whose energy is `free`); every point has an answer."""
        noise, reach = max(ENERGY_FLOOR, 1e-6 * abs(free)), float(case.context["hole_reach"])
        values, lowest = pair_shape(distance, energy, force, noise, reach, FORCE_FLOOR)
        binds = bool(case.context["binds"])
        reason = "" if lowest else f"no wall: the energy is lowest at {distance[0]:g} Å, the shortest distance"
        if binds and "spearman_attraction" not in values:
            values["spearman_attraction"] = -1.0
            reason = reason or "no bond: the energy is lowest at the longest distance"
        absent = [name for name in COUNTS if values[name] == 0.0]
        soft = has_soft_inflection(distance, energy, lowest, ROUNDING * abs(free))
        tolerances = {name: 1.0 for name in absent if not binds or (name == INFLECTIONS and soft)}
        known = bond_errors(case.id, distance, energy)
        detail = {"minimum": lowest, "bond": known.found, "binds": binds}
        return Observation(case.id, OK, values | known.errors, reason, detail, tolerances)
