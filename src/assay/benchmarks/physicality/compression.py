"""Crystals squeezed and pulled: energy and pressure rise towards high density, with one minimum on the way.

Two atoms cannot show what happens to an atom with twelve neighbours that are all too near: pair curves may be perfect
and a dense crystal still collapse. A model that has a hole there lets shock waves, hot melts and structure searches
fall into it.

Protocol: for each species of the survey's sample the fcc and the diamond crystal, which have twelve and four
neighbours, as primitive cells of one and two atoms; 40 nearest-neighbour distances in even ratios from 0.45 to 2.0
times the distance at which atoms touch (sum of covalent radii, in the model's own length scale if that is another). No
crystal is squeezed beyond one atom per Å³ (six times the density of diamond; 900 neighbours within 6 Å, where some
programs' lists end), and all are pulled to 3 Å at least. Models without periodic systems get a cuboctahedron of 13
atoms, no nearer than 0.5 Å, and so do H and He, which would need denser crystals. For each structure, with E per atom:
energy_minima at least 0.1 eV deep, of which a curve that falls at its dense end has one there; holes, 1 if E falls by
more than 0.1 eV on the way in from the well, the lowest point beyond 0.65 touching distances, or from the touching
distance if the well is wider, since a crystal that would rather be a gas may well have a shallow minimum;
pressure_flips, sign changes of the pressure without |P| ≤ 1 GPa, of models with stress; spearman_compression, the rank
correlation of volume and E up to the same point, ideally −1. Reported besides: spearman_expansion, from the well on,
which beyond a cutoff is made of ties; refused_fraction, points without an answer. A structure with more than a tenth of
its points refused has failed, and so has one whose energy is flat, or in which an atom out of its place feels no force.
Reference: none needed; a stable crystal has one minimum, and pressure rises with density.
Cite: ML-PEG benchmark Compression and the pressure tests of MLIP Arena.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.analysis.curves import inward_drop, minima, sign_changes, spearman
from assay.benchmark import Benchmark, Case, Metric, Observation, Scope, ended_early
from assay.benchmarks.bases.answers import USUAL, asked, failed, limit, refusal
from assay.configurations import radius, symbol
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.outcome import OK, Outcome, Point
from assay.structure import Structure
from assay.survey import Subject, Survey, sample_species

GPA = 160.21766208
"""GPa in one eV/Å³."""

DEEP = 0.1
"""Energy per atom (eV) below which ups and downs do not count."""

SIZEABLE_PRESSURE = 1.0
"""GPa below which the sign of the pressure does not count."""

WELL_FROM = 0.65
"""The well is looked for beyond this many touching distances; W in the diamond lattice has it at 0.77."""

SHORTEST = {"fcc": 2.0 ** (1 / 6), "diamond": (3.0 * 3.0**0.5 / 8.0) ** (1 / 3), "cuboctahedron": 0.5}
"""No crystal is denser than one atom per Å³, and no cluster tighter than this nearest-neighbour distance (Å)."""

WIDEST = 3.0
"""Nearest-neighbour distance (Å) up to which each is pulled at least."""

WITNESS = (0.8, 1.0, 1.25)
"""Touching distances at which an atom out of its place must feel a force."""

OUT_OF_PLACE = 0.2
"""How far (Å) it is from there."""

ANSWERED = 0.9
"""The share of points without which a curve is not judged."""


@dataclass(frozen=True)
class Compression(Benchmark):
    """Shape of the energy of crystals from strong compression to wide expansion."""

    metrics = (
        Metric("energy_minima", "1", threshold=1.0),
        Metric("holes", "1", threshold=0.5),
        Metric("pressure_flips", "1", threshold=1.0),
        Metric("spearman_compression", "1", threshold=0.1, ideal=-1.0),
        Metric("refused_fraction", "1"),
        Metric("spearman_expansion", "1", ideal=1.0),
    )
    catches = ("soft_core_hole", "wiggly", "zero_force", "constant_energy", "frozen", "raises")
    points: int = 40
    shortest: float = 0.45
    longest: float = 2.0

    def __post_init__(self) -> None:
        if self.points < 10 or not 0.0 < self.shortest < WELL_FROM < self.longest:
            raise AssayError(
                f"crystals cannot be squeezed at '{self.points}' points from '{self.shortest}' to '{self.longest}'; "
                f"give at least 10 points and ratios on both sides of {WELL_FROM}"
            )

    def cases(self, scope: Scope) -> Iterable[Case]:
        """Each single species in each lattice."""
        return asked(scope, self._cases(scope.survey))

    def _cases(self, survey: Survey) -> Iterable[Case]:
        for subject in survey.subjects:
            if len(subject.numbers) == 1:
                yield from self._curves(survey, subject)
        # Claimed elements that were refused are no subjects of the survey, and must not be passed over.
        for number in sample_species(survey.species, all_species=False):
            yield from _silent(survey, number)

    def _curves(self, survey: Survey, subject: Subject) -> Iterable[Case]:
        """Both crystals; the cluster where there are none, or none as dense as atoms that touch (H and He)."""
        factor = subject.crystal_factor or subject.cluster_factor or 1.0
        touch = 2.0 * radius(subject.numbers[0]) * (1.0 if USUAL[0] < factor < USUAL[1] else factor)
        if "TTT" in survey.pbc and touch > SHORTEST["fcc"]:
            yield from (self._curve(subject, lattice, touch, survey.stress) for lattice in ("fcc", "diamond"))
        elif "FFF" in survey.pbc:
            yield self._curve(subject, "cuboctahedron", touch, False)
        else:
            reason = "no crystal up to one atom per Å³ is as dense as atoms that touch, and clusters are not claimed"
            yield Case(subject.label, {}, unsupported=reason)

    def _curve(self, subject: Subject, lattice: str, touch: float, stress: bool) -> Case:
        number = subject.numbers[0]
        start, end = max(self.shortest * touch, SHORTEST[lattice]), max(self.longest * touch, WIDEST)
        distances = np.geomspace(start, end, self.points)
        wanted = ("energy", "forces", "stress") if stress else ("energy", "forces")
        scan = tuple(_lattice(number, lattice, d) for d in distances)
        shifted = tuple(_shifted(_lattice(number, lattice, factor * touch)) for factor in WITNESS)
        jobs = {"scan": SinglePoints(scan, wanted), "witness": SinglePoints(shifted)}
        return Case(f"{subject.label}-{lattice}", jobs, {"distance": distances, "touching": touch})

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The shape of the curve."""
        early = ended_early(case, outcomes)
        if early is not None:
            return early
        points, witnesses = (outcomes[role].points() for role in ("scan", "witness"))
        known = np.array([p.ok for p in points])
        if known.mean() < ANSWERED:
            return failed(case, f"{np.count_nonzero(~known)} of {len(points)} points: {refusal(points)}")
        pushes = [1e3 * float(np.abs(p.forces).max()) for p in witnesses if p.ok]
        if not pushes:
            return failed(case, f"an atom out of its place: {refusal(witnesses)}")
        if max(pushes) <= limit(case, 0.1, "force", 0.0):
            return failed(case, "an atom out of its place feels no force")
        return _seen(case, points, known)


def _silent(survey: Survey, number: int) -> Iterable[Case]:
    """A case for an element that the model claims and did not answer for."""
    if number in survey.lost:
        yield Case(symbol(number), {}, lost=survey.lost[number])
    elif number in survey.invalid or number in survey.refused:
        yield Case(symbol(number), {}, failure=survey.invalid.get(number) or survey.refused[number])


def _lattice(number: int, lattice: str, distance: float) -> Structure:
    """A primitive cell, or the cluster of an atom and its twelve neighbours, with a nearest-neighbour distance (Å)."""
    faces = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]) / 2.0**0.5
    if lattice == "fcc":
        return Structure.build([number], [[0.0, 0.0, 0.0]], distance * faces, "TTT")
    if lattice == "diamond":
        edge = distance * 2.0 * (2.0 / 3.0) ** 0.5
        return Structure.build([number] * 2, [np.zeros(3), np.full(3, distance / 3.0**0.5)], edge * faces, "TTT")
    shell = [np.roll([0.0, a, b], k) for k in range(3) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    return Structure.build([number] * 13, distance / 2.0**0.5 * np.array([np.zeros(3), *shell]))


def _shifted(body: Structure) -> Structure:
    """The structure with its first atom out of its place; a lone atom gets its next image for a partner first."""
    partners = body.repeated((2, 1, 1)) if len(body) == 1 else body
    shift = np.zeros((len(partners), 3))
    shift[0] = OUT_OF_PLACE * np.array([0.36, 0.48, 0.80])
    return partners.moved(partners.positions + shift)


def _seen(case: Case, points: Sequence[Point], known: NDArray[np.bool_]) -> Observation:
    """The metrics of a curve of which enough points are known."""
    answered = [p for p in points if p.ok]
    distance = np.asarray(case.context["distance"])[known]
    energy = np.array([p.energy / len(p.forces) for p in answered])
    allowed = limit(case, 1.0, "energy", float(np.abs(energy).max()))
    if 1e3 * np.ptp(energy) <= allowed:
        return failed(case, "the energy is the same at all densities")
    touch = float(case.context["touching"])
    # Three points at least are left on the compressed side.
    start, bonded = (max(int(np.searchsorted(distance, d)), 3) for d in (WELL_FROM * touch, touch))
    well = start + int(np.argmin(energy[start:]))
    inner = min(well, bonded)
    drop = inward_drop(distance, energy, float(distance[inner]))
    values = {
        "energy_minima": float(minima(np.concatenate([[energy.max() + 1.0], energy]), DEEP)),
        "holes": float(drop > DEEP),
        "spearman_compression": spearman(distance[: inner + 1], energy[: inner + 1]),
        "refused_fraction": float(1.0 - known.mean()),
    }
    if len(energy) - well > 2:
        values["spearman_expansion"] = spearman(distance[well:], energy[well:])
    detail = {"distance": distance, "energy": energy, "well": float(distance[well]), "inward_drop": drop}
    if all(p.stress is not None for p in answered):
        pressure = np.array([-GPA * float(np.mean(p.stress[:3])) for p in answered if p.stress is not None])
        values["pressure_flips"], detail["pressure"] = float(sign_changes(pressure, SIZEABLE_PRESSURE)), pressure
    count = int(np.count_nonzero(~known))
    reason = f"{count} of {len(points)} points: {refusal(points)}" if count else ""
    return Observation(case.id, OK, values, reason, detail)
