"""Atoms that are far away do not act on a molecule.

Neutral matter 40 Å away is nothing to a molecule: real interactions there are below 1e-5 meV/Å. A model in which it is
felt (a tail without a cutoff, attention over all atoms, a normalisation by their number) gives forces that depend on
what else is in the box.

Protocol: acetone alone and with far atoms; |ΔF| is the change of the forces on acetone. Coordinates are shipped. Models
without Ne or H get another atom, models without C, H and O another molecule, and the observation says so. A model that
does not feel the far atom where it touches fails: it has shown nothing.
- ghost_force_max: largest |ΔF| with 20 Ne at least 40 Å (minimum image) from each atom in a periodic cube of 60 Å, over
  atoms and five arrangements. Good up to 0.1 meV/Å, or what the noise and rounding of the model allow.
- hydrogen_force_mean, hydrogen_force_std: mean and standard deviation, over 30 places of one H at 20 to 50 Å from the
  centre in the open, of the mean |ΔF| over atoms; models that support only periodic systems get a cube of 140 Å. Good
  up to the same limit.
- energy_additivity_max: largest |E(both) − E(acetone) − E(far atoms)| of both experiments. Good up to 1 meV, or what
  the noise and rounding allow.
- effective_range: the distance along a ray, from contact to 30 Å, up to which |ΔF| is above 1 meV/Å (reported).
- Score of a case: the mean over its metrics.
Reference: no interaction.
Cite: ML-PEG benchmark Locality, whose distances ignore periodic images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.analysis.influence import force_changes, largest_change, mean_change, ranges_of, unfelt
from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.limits import raised_threshold
from assay.benchmarks.bases.points import first_refusal
from assay.benchmarks.builders import placements as far
from assay.configurations import symbol
from assay.jobs import SinglePoints
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome, Point
from assay.structure import Floats
from assay.survey import Survey

FELT = 1.0
"""The interaction reaches as far as it changes a force by more than this (meV/Å)."""


@dataclass(frozen=True)
class Locality(Benchmark):
    """Forces on a molecule, and its energy, do not change when atoms are put far away from it."""

    metrics = (
        Metric("ghost_force_max", "meV/Å", threshold=0.1, cases=("ghosts",)),
        Metric("hydrogen_force_mean", "meV/Å", threshold=0.1, cases=("hydrogen",)),
        Metric("hydrogen_force_std", "meV/Å", threshold=0.1, cases=("hydrogen",)),
        Metric("energy_additivity_max", "meV", threshold=1.0, cases=("ghosts", "hydrogen")),
        Metric("effective_range", "Å", cases=("decay",)),
    )
    plots = (Plot("curve", "force", "distance", "force of a far atom", "distance (Å)", "change of force (meV/Å)"),)
    catches = ("long_range_tail", "zero_force", "constant_energy", "frozen", "raises")
    reach: float = 30.0
    decay_points: int = 24

    def cases(self, scope: Scope) -> Iterable[Case]:
        """Ghosts, hydrogen, decay."""
        survey, shipped = scope.survey, far.placements()
        closed = far.molecule_scene(survey, ("TTT", "FFF"), far.CUBE)
        free = far.molecule_scene(survey, ("FFF", "TTT"), far.LARGE_CUBE)
        if isinstance(closed, str) or isinstance(free, str):
            yield Case("molecule", {}, failure=str(closed))
            return
        ghost, hydrogen = far.stand_in(survey, 10), far.stand_in(survey, 1)
        yield _far_case("ghosts", survey, closed, {10: ghost}, list(shipped.shells))
        yield _far_case("hydrogen", survey, free, {1: hydrogen}, [site[None] for site in shipped.hydrogens])
        yield self._decay(survey, free, {10: ghost, 1: hydrogen})

    def _decay(self, survey: Survey, scene: far.Scene, probes: Mapping[int, int]) -> Case:
        curves, structures = {}, []
        for probe in dict.fromkeys(probes.values()):
            grid = np.geomspace(min(2.0, scene.contact(probe, survey)), self.reach, self.decay_points)
            curves[symbol(probe)] = grid
            structures += [scene.both(probe, scene.ray(distance)) for distance in grid]
        jobs = {"alone": SinglePoints((scene.alone(),)), "ray": SinglePoints(tuple(structures))}
        context = {"molecule": scene.name, "pbc": scene.pattern, "said": scene.stand_ins(probes), "distances": curves}
        return Case("decay", jobs, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Changes of the forces on the molecule and of the energy."""
        points = {role: outcome.points() for role, outcome in outcomes.items()}
        if refused := first_refusal(points["alone"]):
            return failed(case, f"{case.context['molecule']} alone: {refused}")
        return _decay_seen(case, points) if "ray" in points else _far_seen(case, points)


def _far_case(name: str, survey: Survey, scene: far.Scene, probes: Mapping[int, int], sites: list[Floats]) -> Case:
    """The molecule with far atoms; `probes` has the species that is meant and the one that stands in for it."""
    (probe,) = probes.values()
    jobs = {role: SinglePoints(group) for role, group in far.far_structures(scene, probe, sites, survey).items()}
    context = {"molecule": scene.name, "probe": symbol(probe), "pbc": scene.pattern, "said": scene.stand_ins(probes)}
    return Case(name, jobs, {**context, "nearest": min(scene.nearest(places) for places in sites)})


def _far_seen(case: Case, points: Mapping[str, Sequence[Point]]) -> Observation:
    """Ghosts and hydrogen: the metrics of the case, if the model feels the atom where it touches."""
    alone, both, (apart, *close) = points["alone"][0], points["both"], points["near"]
    molecule, probe = case.context["molecule"], case.context["probe"]
    if refused := first_refusal(both) or first_refusal([apart]):
        return failed(case, f"{molecule} with {probe} far away: {refused}")
    limits = {
        "force": raised_threshold(case, 0.1, "force", float(np.abs(alone.forces).max())),
        "energy": raised_threshold(case, 1.0, "energy", max(abs(p.energy) for p in both)),
    }
    answered = [p for p in close if p.ok]
    if not answered:
        return failed(case, f"{probe} in contact with {molecule}: {first_refusal(close)}")
    if silent := unfelt(alone, apart, answered, limits):
        return failed(case, f"the {silent} does not change when {probe} comes into contact")
    changes, word = force_changes(alone, both), case.id.removesuffix("s")
    found = largest_change(changes) if case.id == "ghosts" else mean_change(changes)
    values = {f"{word}_force_{name}": average.value for name, average in found.items()}
    errors = {f"{word}_force_{name}": average.stderr for name, average in found.items()}
    tolerances, reason = dict.fromkeys(values, limits["force"]), str(case.context["said"])
    detail: dict[str, object] = {"force_changes": changes, "limits": limits, **case.context}
    if unknown := first_refusal(points["rest"]):
        reason = _joined(reason, f"energies not compared, the far atoms alone were not answered: {unknown}")
    else:
        rest = np.array([p.energy for p in points["rest"]])
        gaps = 1e3 * (np.array([p.energy for p in both]) - alone.energy - rest)
        values["energy_additivity_max"], detail["energy_gaps"] = float(np.abs(gaps).max()), gaps
        tolerances["energy_additivity_max"] = limits["energy"]
    return Observation(case.id, OK, values, reason, detail, tolerances, errors)


def _decay_seen(case: Case, points: Mapping[str, Sequence[Point]]) -> Observation:
    """The force (meV/Å) and energy (meV) with distance (Å), and how far the interaction reaches."""
    if refused := first_refusal(points["ray"]):
        return failed(case, f"{case.context['molecule']} with an atom on the ray: {refused}")
    forces = force_changes(points["alone"][0], points["ray"]).max(axis=1)
    energies = np.array([p.energy for p in points["ray"]])
    curves, ranges = ranges_of(case.context["distances"], forces, energies, FELT)
    farthest = max(ranges, key=lambda probe: ranges[probe])
    if ranges[farthest] == 0.0:
        return failed(case, f"the model does not feel {' or '.join(curves)} at any distance")
    beyond = [p for p, curve in curves.items() if curve["force"][-1] > FELT]
    remark = f"{' and '.join(beyond)} felt beyond {ranges[farthest]:.0f} Å" if beyond else ""
    detail = {"ranges": ranges, "beyond": beyond, "curves": curves, **curves[farthest]}
    reason = _joined(str(case.context["said"]), remark)
    return Observation(case.id, OK, {"effective_range": ranges[farthest]}, reason, detail)


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
