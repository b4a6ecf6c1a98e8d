"""Energy is kept when nothing is coupled to the system.

Forces that are not the gradient of the energy, jumps at a cutoff and numbers of too few digits heat or cool every
simulation; a thermostat hides that, and changes what it is meant to sample.

Protocol: NVE from structures with velocities of 300 K, once with the time step `timestep` and once with half of it,
over the same time: the smallest ring molecule and systems of the stability data, or a cluster if the model knows none
of them, and a crystal of the same elements (ice, or a cubic one) if it knows periodic systems. drift is the slope of
the total energy over the last four fifths of the time, per atom, with its standard error; good up to 1 meV/atom/ps, or
twice its standard error in a run too short to say more. That drift heats by 4 K/ps, which moves a run with a friction
of 2/ps by 1 K. half_step_drift is the same at half the time step: a drift that stays is the model's and not the
integrator's. time_step_order is the power of the time step with which fluctuations of the total energy fall, 2 for
smooth forces. exchange is the fluctuation of the total energy over that of kinetic or potential energy, whichever is
larger: near 0 if one turns into the other. A model in which it does not (above 0.3), or in which the kinetic energy
never changes, fails: without forces there is nothing to keep.
Reference: exact conservation.
Cite: MLIPAudit, whose ratio of drift to fluctuation depends on the size of the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log2

import numpy as np

from assay.analysis.blocks import Average
from assay.analysis.fluctuations import balance, pooled, wandering
from assay.benchmark import Benchmark, Case, Metric, MetricValue, Observation, Scope, ended_early
from assay.benchmarks.bases.records import outside_claims, placed
from assay.benchmarks.bases.runs import STDERR, runs_of, thinned, went_wrong, with_run_errors
from assay.benchmarks.builders.ice import ice_cell
from assay.configurations import symbol
from assay.jobs import Dynamics, Job
from assay.outcome import FAILED, OK, Outcome
from assay.structure import Floats, Structure, from_atoms
from assay.survey import Survey
from assay.units import BOLTZMANN

MEV = 1000.0
UNBALANCED = 0.3
MEMORY = 0.5
"""Time (ps) for which the error of the integrator may wander in one direction, as heat moves between motions."""

SETTLING = 0.2
"""This part of a run, in which heat spreads from motion to bonds, does not count: there the integrator errs anew."""

STILL = 0.02
"""Kinetic energy that fluctuates by less than this part of what heat would is not touched by any force."""


@dataclass(frozen=True)
class EnergyConservation(Benchmark):
    """Runs of `steps` of `timestep` (fs) for so many `molecules` of up to `most_atoms`, from so many `seeds`."""

    metrics = (
        Metric("drift", "meV/atom/ps", threshold=1.0),
        Metric("half_step_drift", "meV/atom/ps"),
        Metric("time_step_order", "1", ideal=2.0),
        Metric("exchange", "1"),
    )
    catches = ("zero_force", "frozen", "constant_energy", "mixed_units", "wrong_sign_forces", "pure_noise", "raises")
    needs_noise = False
    steps: int = 10_000
    interval: int = 5
    timestep: float = 1.0
    seeds: int = 1
    molecules: int = 3
    most_atoms: int = 50

    def cases(self, scope: Scope) -> Iterable[Case]:
        """One case for each system."""
        survey = scope.survey
        if survey.contact_error:
            return [Case("contact", {}, lost=survey.contact_error)]
        made = [Case(name, self._jobs(s), {"atoms": len(s)}) for name, s in self._systems(scope)]
        refused = next(iter(survey.refused.values()), "the model answered for no element")
        return list(islice(made, scope.limit)) or [Case("nothing", {}, failure=refused)]

    def _systems(self, scope: Scope) -> list[tuple[str, Structure]]:
        survey = scope.survey
        known = {kind: [r for data in scope.data.read(kind) for r in data.records] for kind in ("rings", "stability")}
        claimed = {kind: [r for r in found if not outside_claims(r, survey)] for kind, found in known.items()}
        rings = sorted(claimed["rings"], key=lambda record: (len(record.structures[0]), record.id))[:1]
        free = [r for r in claimed["stability"] if not any(r.structures[0].pbc)]
        small = [r for r in free if len(r.structures[0]) <= self.most_atoms]
        chosen = [*rings, *small][: self.molecules]
        free_ones = [(r.id, placed(r.structures[0], survey)) for r in chosen] or survey.clusters()[:1]
        return free_ones + _periodic(survey, {int(z) for _, structure in free_ones for z in structure.numbers})

    def _jobs(self, structure: Structure) -> dict[str, Job]:
        """Both time steps over the same time, for each seed."""
        jobs: dict[str, Job] = {}
        for seed in range(self.seeds):
            for role, part in (("run", 1), ("fine", 2)):
                jobs[f"{role}{seed + 1}"] = Dynamics(
                    structure,
                    "nve",
                    timestep=self.timestep / part,
                    steps=self.steps * part,
                    interval=self.interval * part,
                    seed=seed,
                )
        return jobs

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Drift, its dependence on the time step, and whether energy moves at all."""
        if (early := ended_early(case, outcomes)) is not None:
            return early
        coarse = runs_of(outcomes)
        fine = [outcomes[role] for role in sorted(outcomes) if role.startswith("fine")]
        if reason := went_wrong([*coarse, *fine]):
            return Observation(case.id, FAILED, reason=reason)
        atoms = int(case.context["atoms"])
        slopes = [pooled([self._drift(run, atoms, part) for run in runs]) for runs, part in ((coarse, 1), (fine, 2))]
        shares = [_balance(run) for run in coarse]
        exchange = float(np.mean([share for _, share in shares]))
        values = {"drift": slopes[0].value, "half_step_drift": slopes[1].value, "exchange": exchange}
        noise = [float(np.mean([np.std(_total(run)) for run in runs])) for runs in (coarse, fine)]
        values |= {"time_step_order": log2(noise[0] / noise[1])} if min(noise) > 0.0 else {}
        errors = {"drift": slopes[0].stderr, "half_step_drift": slopes[1].stderr}
        detail = {STDERR: errors, "energy": thinned(_total(coarse[0]) - _total(coarse[0])[0]), "unit": "eV"}
        heat = BOLTZMANN * 300.0 * np.sqrt(1.5 * atoms)
        if reason := _unmoved(min(moved for moved, _ in shares) / heat, exchange):
            return Observation(case.id, FAILED, values, reason, detail)
        limit = max(1.0, 2.0 * (slopes[0].stderr or 0.0))
        return Observation(case.id, OK, values, detail=detail, tolerances={"drift": limit})

    def _drift(self, run: Outcome, atoms: int, part: int) -> Average:
        times, energies = run.trajectory().series("step") * self.timestep / part / 1000.0, _total(run)
        start = int(SETTLING * len(times))
        return wandering(times[start:], MEV * energies[start:] / atoms, MEMORY)

    def measure(self, observations: Sequence[Observation]) -> list[MetricValue]:
        """Means over systems, with the errors of the slopes."""
        return [with_run_errors(metric, observations) for metric in self.metrics]


def _periodic(survey: Survey, species: set[int]) -> list[tuple[str, Structure]]:
    """Ice, or a crystal of the first of some elements that has a cubic one; none for models of free systems only."""
    if "TTT" not in survey.pbc:
        return []
    if {1, 8} <= species:
        return [("ice", ice_cell())]
    return [(f"{symbol(z)} crystal", _crystal(z)) for z in sorted(species) if _is_cubic(z)][:1]


def _is_cubic(number: int) -> bool:
    """True for elements that crystallise in a cubic lattice that ASE knows."""
    from ase.data import reference_states

    state = reference_states[number] if number < len(reference_states) else None
    return state is not None and state.get("symmetry") in ("fcc", "bcc", "diamond")


def _crystal(number: int) -> Structure:
    """2 × 2 × 2 cubic cells of an element."""
    from ase.build import bulk

    return from_atoms(bulk(symbol(number), cubic=True).repeat(2))


def _total(run: Outcome) -> Floats:
    frames = run.trajectory()
    return np.asarray(frames.series("energy") + frames.series("kinetic"))


def _balance(run: Outcome) -> tuple[float, float]:
    frames = run.trajectory()
    return balance(frames.series("energy"), frames.series("kinetic"))


def _unmoved(moved: float, exchange: float) -> str:
    """Why there is no energy to keep; `moved` is the fluctuation of kinetic energy over that of a thermal system."""
    if moved < STILL:
        return "the kinetic energy never changes: there are no forces"
    if exchange > UNBALANCED:
        return (
            f"kinetic and potential energy do not turn into each other: their sum changes {exchange:.2g} times as much"
        )
    return ""
