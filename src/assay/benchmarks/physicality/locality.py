"""Atoms that are far away do not act on a molecule.

Neutral matter 40 Å away is nothing to a molecule: real interactions there are below 1e-5 meV/Å. A model in which it is
felt (a tail without a cutoff, attention over all atoms, a normalisation by their number) gives forces that depend on
what else is in the box.

Protocol: acetone alone and (a) with 20 Ne at least 40 Å (minimum image) from each of its atoms in a periodic cube of
60 Å, in five arrangements; (b) with one H at 20 to 50 Å from its centre, in the open, in 30 places; models that know
only periodic systems get a cube of 140 Å. Coordinates are shipped. The force metrics are changes |ΔF| of acetone's
forces: (a) the largest over atoms and arrangements, (b) mean and standard deviation over the places of the mean over
atoms. Energies must add up: E(both) − E(acetone) − E(far atoms alone). `decay` brings the far atom in along a ray, from
contact to 30 Å: how far does it act? Beyond the range, |ΔF| stays below 1 meV/Å. Limits are 0.1 meV/Å and 1 meV, or
what the noise and rounding of the model allow. A model that does not feel the far atom where it touches has not shown
anything and fails. Models without Ne or H get another atom, models without C, H and O another molecule, and the
observation says so.
Reference: no interaction.    Cite: ML-PEG benchmark Locality, whose distances do not heed the images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope, ended_early
from assay.benchmarks.bases.answers import asked, failed, limit, metric_of_its_cases, refusal
from assay.benchmarks.builders.placements import CUBE, LARGE_CUBE, Scene, molecule_scene, placements, stand_in
from assay.configurations import symbol
from assay.jobs import SinglePoints
from assay.outcome import OK, Outcome, Point
from assay.structure import Floats
from assay.survey import Survey, touching

CONTACT = (1.0, 1.25, 1.6)
"""Distances at which the far atom must be felt, in touching distances."""

FELT = 1.0
"""The interaction reaches as far as it changes a force by more than this (meV/Å)."""

CASES = {
    "ghost_force_max": ("ghosts",),
    "hydrogen_force_mean": ("hydrogen",),
    "hydrogen_force_std": ("hydrogen",),
    "energy_additivity_max": ("ghosts", "hydrogen"),
    "effective_range": ("decay",),
}
"""The cases that each metric is read from."""


@dataclass(frozen=True)
class Locality(Benchmark):
    """Forces on a molecule, and its energy, do not change when atoms are put far away from it."""

    metrics = (
        Metric("ghost_force_max", "meV/Å", threshold=0.1),
        Metric("hydrogen_force_mean", "meV/Å", threshold=0.1),
        Metric("hydrogen_force_std", "meV/Å", threshold=0.1),
        Metric("energy_additivity_max", "meV", threshold=1.0),
        Metric("effective_range", "Å"),
    )
    catches = ("long_range_tail", "zero_force", "constant_energy", "frozen", "raises")
    reach: float = 30.0
    decay_points: int = 24

    def cases(self, scope: Scope) -> Iterable[Case]:
        """Ghosts, hydrogen, decay."""
        return asked(scope, self._cases(scope.survey))

    def _cases(self, survey: Survey) -> Iterable[Case]:
        closed = molecule_scene(survey, ("TTT", "FFF"), CUBE)
        free = molecule_scene(survey, ("FFF", "TTT"), LARGE_CUBE)
        if isinstance(closed, str) or isinstance(free, str):
            yield Case("molecule", {}, failure=str(closed))
            return
        ghost, hydrogen, far = stand_in(survey, 10), stand_in(survey, 1), placements()
        yield _far_case("ghosts", survey, closed, ghost, list(far.shells))
        yield _far_case("hydrogen", survey, free, hydrogen, [site[None] for site in far.hydrogens])
        yield self._decay(survey, free, {10: ghost, 1: hydrogen})

    def _decay(self, survey: Survey, scene: Scene, probes: Mapping[int, int]) -> Case:
        curves, structures = {}, []
        for probe in dict.fromkeys(probes.values()):
            start = min(2.0, touching(int(scene.numbers[scene.outermost]), probe, survey))
            curves[symbol(probe)] = np.geomspace(start, self.reach, self.decay_points)
            structures += [scene.both(probe, scene.ray(d)) for d in curves[symbol(probe)]]
        jobs = {"alone": SinglePoints((scene.alone(),)), "ray": SinglePoints(tuple(structures))}
        context = {"molecule": scene.name, "pbc": scene.pattern, "said": _said(scene, probes), "distances": curves}
        return Case("decay", jobs, context)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Changes of the forces on the molecule and of the energy."""
        early = ended_early(case, outcomes)
        if early is not None:
            return early
        points = {role: outcome.points() for role, outcome in outcomes.items()}
        refused = refusal(points["alone"])
        if refused:
            return failed(case, f"{case.context['molecule']} alone: {refused}")
        return _decay_seen(case, points) if "ray" in points else _far_seen(case, points)

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Each metric from its own cases, with the standard errors that the cases know."""
        return [_measured(metric, observations) for metric in self.metrics]


def _measured(metric: Metric, observations: Sequence[Observation]) -> MetricValue:
    mine = CASES[metric.name]
    found = metric_of_its_cases(metric, observations, lambda case: case in mine)
    errors = [o.detail["stderr"][metric.name] for o in observations if metric.name in o.detail.get("stderr", {})]
    return replace(found, stderr=float(errors[0])) if errors else found


def _said(scene: Scene, probes: Mapping[int, int]) -> str:
    """What stands in for what; empty for acetone with the atoms that are meant."""
    parts = [f"{scene.name} in place of acetone"] if scene.name != "acetone" else []
    parts += [f"{symbol(has)} in place of {symbol(meant)}" for meant, has in probes.items() if has != meant]
    return ", ".join(parts)


def _far_case(name: str, survey: Survey, scene: Scene, probe: int, far: list[Floats]) -> Case:
    """The molecule alone, with far atoms, and with one of them in contact; and the far atoms alone, equal ones once."""
    contact = touching(int(scene.numbers[scene.outermost]), probe, survey)
    near = [scene.both(probe, scene.ray(factor * contact)) for factor in CONTACT]
    apart = far if len(far[0]) > 1 else far[:1]
    jobs = {
        "alone": SinglePoints((scene.alone(),)),
        "near": SinglePoints((scene.both(probe, far[0][:1]), *near)),
        "both": SinglePoints(tuple(scene.both(probe, sites) for sites in far)),
        "rest": SinglePoints(tuple(scene.others(probe, sites) for sites in apart)),
    }
    context = {
        "molecule": scene.name,
        "probe": symbol(probe),
        "pbc": scene.pattern,
        "said": _said(scene, {10 if name == "ghosts" else 1: probe}),
        "nearest": min(scene.nearest(sites) for sites in far),
    }
    return Case(name, jobs, context)


def _changes(alone: Point, points: Sequence[Point]) -> Floats:
    """|ΔF| (meV/Å) of each atom of the molecule, for each point: shape (points, atoms)."""
    count = len(alone.forces)
    return np.array([1e3 * np.linalg.norm(p.forces[:count] - alone.forces, axis=1) for p in points])


def _far_seen(case: Case, points: Mapping[str, Sequence[Point]]) -> Observation:
    """Ghosts and hydrogen: the metrics of the case, if the model feels the atom where it touches."""
    alone, both = points["alone"][0], points["both"]
    refused = refusal(both) or refusal(points["near"][:1])
    if refused:
        return failed(case, f"{case.context['molecule']} with {case.context['probe']} far away: {refused}")
    limits = {
        "force": limit(case, 0.1, "force", float(np.abs(alone.forces).max())),
        "energy": limit(case, 1.0, "energy", max(abs(p.energy) for p in both)),
    }
    deaf = _deaf(case, alone, points["near"], limits)
    if deaf:
        return failed(case, deaf)
    changes = _changes(alone, both)
    values, stderr = _ghosts(changes) if case.id == "ghosts" else _hydrogen(changes)
    tolerances = dict.fromkeys(values, limits["force"])
    detail: dict[str, object] = {"force_changes": changes, "stderr": stderr, "limits": limits, **case.context}
    unknown = refusal(points["rest"])
    if not unknown:
        rest = np.array([p.energy for p in points["rest"]])
        gaps = 1e3 * (np.array([p.energy for p in both]) - alone.energy - rest)
        values["energy_additivity_max"], detail["energy_gaps"] = float(np.abs(gaps).max()), gaps
        tolerances["energy_additivity_max"] = limits["energy"]
    remark = f"energies not compared, the far atoms alone were not answered: {unknown}" if unknown else ""
    return Observation(case.id, OK, values, _joined(str(case.context["said"]), remark), detail, tolerances)


def _deaf(case: Case, alone: Point, near: Sequence[Point], limits: Mapping[str, float]) -> str:
    """Why the case shows nothing: the model does not feel the atom even where it touches. Empty if it does."""
    far, *close = near
    answered = [p for p in close if p.ok]
    if not answered:
        return f"{case.context['probe']} in contact with {case.context['molecule']}: {refusal(close)}"
    seen = {"force": float(_changes(alone, answered).max())}
    seen["energy"] = max(1e3 * abs(p.energy - far.energy) for p in answered)
    deaf = [kind for kind, size in seen.items() if size <= limits[kind]]
    return f"the {deaf[0]} does not change when {case.context['probe']} comes into contact" if deaf else ""


def _ghosts(changes: Floats) -> tuple[dict[str, float], dict[str, float]]:
    """The largest change of all, and the standard error of the largest changes of the arrangements."""
    largest = changes.max(axis=1)
    error = float(largest.std(ddof=1) / np.sqrt(len(largest)))
    return {"ghost_force_max": float(largest.max())}, {"ghost_force_max": error}


def _hydrogen(changes: Floats) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and population standard deviation over the places of the mean change over the atoms."""
    means, count = changes.mean(axis=1), len(changes)
    mean, std = float(means.mean()), float(means.std())
    errors = {"hydrogen_force_mean": std / count**0.5, "hydrogen_force_std": std / (2.0 * (count - 1)) ** 0.5}
    return {"hydrogen_force_mean": mean, "hydrogen_force_std": std}, errors


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _decay_seen(case: Case, points: Mapping[str, Sequence[Point]]) -> Observation:
    """The curves of force (meV/Å) and energy (meV) with distance (Å), and how far the interaction reaches."""
    refused = refusal(points["ray"])
    if refused:
        return failed(case, f"{case.context['molecule']} with an atom on the ray: {refused}")
    forces = _changes(points["alone"][0], points["ray"]).max(axis=1)
    energies = np.array([p.energy for p in points["ray"]])
    curves: dict[str, dict[str, Floats]] = {}
    ranges, start = {}, 0
    for probe, grid in case.context["distances"].items():
        mine = slice(start, start + len(grid))
        distance, force, energy = np.asarray(grid), forces[mine], energies[mine]
        curves[probe] = {"distance": distance, "force": force, "energy": 1e3 * (energy - energy[-1])}
        ranges[probe] = float(distance[force > FELT].max(initial=0.0))
        start = mine.stop
    if max(ranges.values()) == 0.0:
        return failed(case, f"the model does not feel {' or '.join(curves)} at any distance")
    beyond = [p for p, curve in curves.items() if curve["force"][-1] > FELT]
    remark = f"{' and '.join(beyond)} felt beyond {max(ranges.values()):.0f} Å" if beyond else ""
    detail = {"curves": curves, "ranges": ranges, "beyond": beyond, "molecule": case.context["molecule"]}
    values = {"effective_range": max(ranges.values())}
    return Observation(case.id, OK, values, _joined(str(case.context["said"]), remark), detail)
