"""Two atoms, pulled apart and pushed together: the energy curve of every pair of elements.

A pair curve has one well, a wall towards zero distance and a rise to the free atoms. Bumps, false minima and holes in
it mean wrong chemistry in a gas, and atoms that fuse in a hot simulation; a model shows them where it has no data.

Protocol: every homo- and heteronuclear pair of the model's elements at 100 even distances of 0.18 to 6.0 Å, atom 0 at
the origin and atom 1 on the z axis, without a cell; models that only know periodic systems get a cube 24 Å wider than
the longest distance. Models that take a spin are given charge 0 and the lowest multiplicity that the number of
electrons allows (1 or 2, also for O2, whose ground state is a triplet); others are given neither. Energies E are
relative to the longest distance; the force f is that on atom 1 along the bond, positive if repulsive. For each pair:
force_flips, sign changes of f without |f| ≤ 0.01 eV/Å; energy_minima, at least 0.1 eV deep and a step wide;
energy_inflections, sign changes of E'' by differences without |E''| ≤ 0.5 eV/Å²; spearman_repulsion and
spearman_attraction, rank correlation of r and E up to and from the lowest point, which belongs to both. Of a tail where
the force is exactly zero only the first point counts, so that a short cutoff costs nothing. A curve that is lowest at
its end or in that tail is purely repulsive, as for noble gases, and has no attraction to judge; one that is lowest at
the shortest distance has no wall, and its spearman_repulsion is the worst there is, +1. A pair with any point refused
or NaN has failed, and so has one whose energy or force is flat over all distances: atoms that do not feel each other.
The score is the mean over pairs of the mean over these five. Reported besides, and not scored because they depend on
the level of theory or are judged by other checks: force_energy_gap, 0 to 1, largest relative difference of f and
−dE/dr where the grid resolves both; short_range_hole, 1 if E falls by more than 0.1 eV on the way in from half the sum
of the covalent radii, closer than any known bond; errors of bond length, well depth and frequency.
Reference: none for the five; measured constants of 30 molecules for the bonds (Huber and Herzberg 1979).
Cite: the pair curves of ML-PEG and MLIP Arena.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from assay.analysis.curves import (
    force_energy_gap,
    inflections,
    inward_drop,
    minima,
    sides,
    sign_changes,
    spearman,
)
from assay.benchmark import Benchmark, Case, Metric, Observation, Scope, ended_early
from assay.benchmarks.bases.diatomic_constants import bond_errors
from assay.configurations import radius, symbol
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.outcome import FAILED, OK, Outcome
from assay.structure import Floats, Structure
from assay.survey import Survey, sample_species

FORCE_FLOOR = 0.01  # eV/Å, counts as no force
ENERGY_FLOOR = 1e-3  # eV, counts as no change of energy
VACUUM = 24.0  # Å, from an atom at the longest distance to the next image
HOLE_REACH, HOLE_DEPTH = 0.5, 0.1  # sums of covalent radii, eV


@dataclass(frozen=True)
class Diatomics(Benchmark):
    """Shape of the energy curve of every pair of elements. `species` is "all" or, for quick suites, "sample"."""

    metrics = (
        Metric("force_flips", "1", threshold=1.0),
        Metric("energy_minima", "1", threshold=1.0),
        Metric("energy_inflections", "1", threshold=1.0),
        Metric("spearman_repulsion", "1", threshold=0.1, ideal=-1.0),
        Metric("spearman_attraction", "1", threshold=0.1, ideal=1.0),
        Metric("force_energy_gap", "1"),
        Metric("short_range_hole", "1"),
        Metric("bond_length_error", "Å"),
        Metric("well_depth_error", "eV"),
        Metric("frequency_error", "cm⁻¹"),
    )
    needs_noise = False
    catches = (
        "soft_core_hole", "wiggly", "zero_force", "constant_energy", "frozen", "nan_for_one_species",
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
            raise AssayError(
                f"diatomics cannot have '{self.points}' points from '{self.shortest}' to '{self.longest}' Å; "
                "give at least 10 points and distances that rise from above 0"
            )

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case and one job for each pair, named by rising atomic number, such as "H-C"."""
        survey = scope.survey
        if survey.contact_error:
            return [Case("contact", {}, lost=survey.contact_error)]
        pairs = list(combinations_with_replacement(self._elements(survey), 2))
        if not pairs:
            return [Case("nothing", {}, failure="the model answered for no element")]
        box = 0.0 if "FFF" in survey.pbc or not survey.pbc else self.longest + VACUUM
        positions = np.zeros((self.points, 2, 3))
        positions[:, 1, 2] = np.linspace(self.shortest, self.longest, self.points)
        places, cell = list(positions), box * np.eye(3)  # shared by all pairs, which may be thousands
        return [self._case(pair, survey, places, cell) for pair in pairs[: scope.limit]]

    def _elements(self, survey: Survey) -> list[int]:
        if self.species == "all":
            return sorted(set(survey.species))
        # Claimed elements that the model refused are no subjects of the survey, and must not be passed over.
        checked = {z for subject in survey.subjects for z in subject.numbers}
        return sorted(checked | set(sample_species(survey.species, all_species=False)))

    def _case(self, pair: tuple[int, int], survey: Survey, places: list[Floats], cell: Floats) -> Case:
        name = "-".join(symbol(z) for z in pair)
        lost = next((survey.lost[z] for z in pair if z in survey.lost), "")
        if lost:
            return Case(name, {}, lost=lost)
        spin = 1 + sum(pair) % 2 if survey.card.spin else None
        charge, pbc, numbers = None if spin is None else 0, (bool(cell.any()),) * 3, np.array(pair, dtype=np.int64)
        structures = tuple(Structure(numbers, place, cell, pbc, charge, spin) for place in places)
        context = {
            "grid": [self.shortest, self.longest, self.points],
            "cell": f"cube of {cell[0, 0]:g} Å" if cell.any() else "none",
            "multiplicity": "not given" if spin is None else spin,
            "hole_reach": HOLE_REACH * sum(radius(z) for z in pair),
        }
        return Case(name, {"scan": SinglePoints(structures)}, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The shape of the curve; failed if a point is missing or if the atoms do not feel each other."""
        early = ended_early(case, outcomes)
        if early is not None:
            return early
        points = outcomes["scan"].points()
        shortest, longest, count = case.context["grid"]
        distance = np.linspace(float(shortest), float(longest), int(count))
        energy = np.array([p.energy if p.ok else np.nan for p in points])
        force = np.array([p.forces[1, 2] if p.ok else np.nan for p in points])
        free = next((p.energy for p in reversed(points) if p.ok), 0.0)
        detail: dict[str, object] = {"distances": distance, "energies": energy - free, "forces": force}
        detail |= {key: case.context[key] for key in ("multiplicity", "cell")}
        reasons = [p.reason for p in points if not p.ok]
        if reasons:
            reason = f"{len(reasons)} of {len(points)} distances without an answer; the first: {reasons[0]}"
            return Observation(case.id, FAILED, reason=reason, detail=detail)
        if np.ptp(energy) <= ENERGY_FLOOR or np.abs(force).max() <= FORCE_FLOOR:
            flat = "energy" if np.ptp(energy) <= ENERGY_FLOOR else "force"
            return Observation(case.id, FAILED, reason=f"no interaction at any distance: flat {flat}", detail=detail)
        noise = max(ENERGY_FLOOR, 1e-6 * abs(free))
        values, lowest = _shape(distance, energy - free, force, noise, float(case.context["hole_reach"]))
        known = bond_errors(case.id, distance, energy - free)
        reason = "" if lowest else f"no wall: the energy is lowest at {distance[0]:g} Å, the shortest distance"
        detail |= {"minimum": lowest, "bond": known.found}
        return Observation(case.id, OK, values | known.errors, reason, detail)


def _shape(distance: Floats, energy: Floats, force: Floats, noise: float, reach: float) -> tuple[dict[str, float], int]:
    """The metrics that need no measured molecule, and the index of the lowest point."""
    wall, rise = sides(energy, force, noise)
    values = {
        "force_flips": float(sign_changes(force, FORCE_FLOOR)),
        "energy_minima": float(minima(energy)),
        "energy_inflections": float(inflections(distance, energy)),
        "spearman_repulsion": spearman(distance[wall], energy[wall]) if wall.stop > 1 else 1.0,
        "short_range_hole": float(inward_drop(distance, energy, reach) > HOLE_DEPTH),
    }
    if rise.stop - rise.start > 1:
        values["spearman_attraction"] = spearman(distance[rise], energy[rise])
    gap = force_energy_gap(distance, energy, force)
    return values if gap is None else {**values, "force_energy_gap": gap}, rise.start
