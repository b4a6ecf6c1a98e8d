"""Crystals squeezed and pulled: energy and pressure rise towards high density, with one minimum on the way.

Two atoms cannot show what happens to an atom with twelve neighbours that are all too near: pair curves may be perfect
and a dense crystal still collapse. A model that has a hole there lets shock waves, hot melts and structure searches
fall into it.

Protocol: the fcc and the diamond crystal (twelve and four neighbours) of each species of the survey's sample at 40
nearest-neighbour distances, in even ratios from 0.45 to 2.0 times the distance at which atoms touch (sum of covalent
radii, or in the model's own length scale if that is another). No crystal is denser than one atom per Å³, and all are
pulled to 3 Å at least. H and He, which would need denser crystals, and models without periodic systems get a
cuboctahedron of 13 atoms, no nearer than 0.5 Å. E is the energy per atom; the well is the lowest point beyond 0.65
touching distances. A structure fails if more than a tenth of its points are refused, if its energy is flat, if an atom
out of its site feels no force, or if it has no minimum and its atoms should bind: all elements but noble gases and H,
N, O, F, Cl, Br, I, which form molecules instead.
- energy_minima: minima at least 0.1 eV deep; a curve that falls at its dense end has one there. Good up to 1.
- holes: 1 if E falls by more than 0.1 eV on the way in from the well, or from the touching distance if that is nearer.
- pressure_flips: sign changes of the pressure without |P| ≤ 1 GPa, for models with stress. Good up to 1.
- spearman_compression: rank correlation of volume and E up to the same point, ideally −1.
- spearman_expansion: the same from the well on, ideally 1; beyond a cutoff it is made of ties (reported).
- refused_fraction: share of points without an answer (reported).
- Score of a structure: the mean over the first four.
Reference: none needed; a stable crystal has one minimum, and pressure rises with density.
Cite: ML-PEG benchmark Compression and the pressure tests of MLIP Arena.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.analysis.compression import compression_shape
from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.bonding import crystal_binds
from assay.benchmarks.bases.limits import raised_threshold
from assay.benchmarks.bases.points import first_refusal, refusals, too_few
from assay.benchmarks.builders.crystals import displaced_atom, lattice
from assay.configurations import radius, symbol
from assay.errors import AssayError
from assay.jobs import SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.survey import USUAL_FACTORS, Subject, Survey, sample_species
from assay.units import GPA

WELL_FROM = 0.65
"""The well is looked for beyond this many touching distances; W in the diamond lattice has it at 0.77."""

SHORTEST = {"fcc": 2.0 ** (1 / 6), "diamond": (3.0 * 3.0**0.5 / 8.0) ** (1 / 3), "cuboctahedron": 0.5}
"""No crystal is denser than one atom per Å³, and no cluster tighter than this nearest-neighbour distance (Å)."""

WIDEST = 3.0
WITNESS = (0.8, 1.0, 1.25)
"""Touching distances at which an atom out of its site must feel a force."""


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
    plots = (Plot("curve", "energy", "distance", "energy of the crystal", "distance (Å)", "energy (eV/atom)"),)
    version = 2
    catches = ("only_repels", "soft_core_hole", "wiggly", "zero_force", "constant_energy", "frozen", "raises")
    points: int = 40
    shortest: float = 0.45
    longest: float = 2.0

    def __post_init__(self) -> None:
        if self.points < 10 or not 0.0 < self.shortest < WELL_FROM < self.longest:
            grid = f"'{self.points}' points from '{self.shortest}' to '{self.longest}'"
            raise AssayError(f"crystals cannot have {grid}; give 10 points or more and ratios around {WELL_FROM}")

    def cases(self, scope: Scope) -> Iterable[Case]:
        """Each single species in each lattice, and claimed elements that the model did not answer for."""
        survey = scope.survey
        for subject in survey.subjects:
            if len(subject.numbers) == 1:
                yield from self._curves(survey, subject)
        for number in sample_species(survey.species, all_species=False):
            if number in survey.lost:
                yield Case(symbol(number), {}, lost=survey.lost[number])
            elif number in survey.invalid or number in survey.refused:
                yield Case(symbol(number), {}, failure=survey.invalid.get(number) or survey.refused[number])

    def _curves(self, survey: Survey, subject: Subject) -> Iterable[Case]:
        """Both crystals; the cluster where there are none, or none as dense as atoms that touch (H and He)."""
        factor = subject.crystal_factor or subject.cluster_factor or 1.0
        usual = USUAL_FACTORS[0] < factor < USUAL_FACTORS[1]
        touch = 2.0 * radius(subject.numbers[0]) * (1.0 if usual else factor)
        if "TTT" in survey.pbc and touch > SHORTEST["fcc"]:
            yield from (self._curve(subject, kind, touch, survey.stress) for kind in ("fcc", "diamond"))
        elif "FFF" in survey.pbc:
            yield self._curve(subject, "cuboctahedron", touch, False)
        else:
            reason = "no crystal up to one atom per Å³ is as dense as atoms that touch, and clusters are not supported"
            yield Case(subject.label, {}, unsupported=reason)

    def _curve(self, subject: Subject, kind: str, touch: float, stress: bool) -> Case:
        number = subject.numbers[0]
        start, end = max(self.shortest * touch, SHORTEST[kind]), max(self.longest * touch, WIDEST)
        distances = np.geomspace(start, end, self.points)
        wanted = ("energy", "forces", "stress") if stress else ("energy", "forces")
        scan = tuple(lattice(number, kind, d) for d in distances)
        shifted = tuple(displaced_atom(lattice(number, kind, factor * touch)) for factor in WITNESS)
        jobs = {"scan": SinglePoints(scan, wanted), "witness": SinglePoints(shifted)}
        context = {"distance": distances, "touching": touch, "binds": crystal_binds(number)}
        return Case(f"{subject.label}-{kind}", jobs, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The shape of the curve."""
        points, witnesses = (outcomes[role].points() for role in ("scan", "witness"))
        known = np.array([p.ok for p in points])
        if refused := too_few(points):
            return failed(case, refused)
        pushes = [1e3 * float(np.abs(p.forces).max()) for p in witnesses if p.ok]
        if not pushes:
            return failed(case, f"an atom out of its site: {first_refusal(witnesses)}")
        if max(pushes) <= raised_threshold(case, 0.1, "force", 0.0):
            return failed(case, "an atom out of its site feels no force")
        answered = [p for p in points if p.ok]
        energy = np.array([p.energy / len(p.forces) for p in answered])
        if 1e3 * np.ptp(energy) <= raised_threshold(case, 1.0, "energy", float(np.abs(energy).max())):
            return failed(case, "the energy is the same at all densities")
        pressure = np.array([-GPA * float(np.mean(p.stress[:3])) for p in answered if p.stress is not None])
        touch = float(case.context["touching"])
        distance = np.asarray(case.context["distance"])[known]
        values, detail = compression_shape(distance, energy, pressure, touch, WELL_FROM * touch)
        values["refused_fraction"] = float(1.0 - known.mean())
        if case.context["binds"] and not values["energy_minima"]:
            return failed(case, "no density binds: the atoms only repel each other", values, detail)
        return Observation(case.id, OK, values, refusals(points), detail)
