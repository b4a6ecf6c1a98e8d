"""Energy is conserved when nothing is coupled to the system.

Forces that are not the gradient of the energy, jumps at a cutoff and numbers of too few digits heat or cool every
simulation; a thermostat hides that, and changes what it is meant to sample.

Protocol: NVE from structures with velocities of 300 K, once with the time step `timestep` and once with half of it over
the same time. Systems: the smallest ring molecule and systems of the stability data, or a cluster if the model supports
none of them, and a crystal of the same elements (ice, or a cubic one) if it supports periodic systems.
- drift: slope of the total energy over the last four fifths of the time, per atom. Good up to 1 meV/atom/ps, or twice
  its standard error in a short run. This drift heats by 4 K/ps, which moves a run with a friction of 2/ps by 1 K.
- half_step_drift: the same at half the time step; a drift that stays is the model's, not the integrator's (reported).
- time_step_order: power of the time step with which fluctuations of the total energy fall; 2 if smooth (reported).
- exchange: fluctuation of the total energy over that of kinetic or potential energy, whichever is larger. Above 0.3, or
  if the kinetic energy never changes, the system fails: without forces there is nothing to conserve.
- Score of a system: that of drift.
Reference: exact conservation.
Cite: MLIPAudit, whose ratio of drift to fluctuation depends on the size of the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

import numpy as np

from assay.analysis.blocks import Average
from assay.analysis.fluctuations import drift_with_memory, pooled
from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.records import small_molecules
from assay.benchmarks.bases.runs import energy_exchange, replicas, runs_of, stopped, thinned, times, total_energies
from assay.benchmarks.builders.crystals import usual_crystal
from assay.jobs import Dynamics, Job
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.structure import Structure
from assay.units import BOLTZMANN

UNBALANCED, MEMORY = 0.3, 0.5
"""Largest exchange; time (ps) for which the error of the integrator may go in one direction."""

SETTLING = 0.2
"""This part of a run, in which heat spreads from motion to bonds, does not count: there the integrator errs anew."""

STILL = 0.02
"""Kinetic energy that fluctuates by less than this part of a thermal system's is not changed by any force."""


@dataclass(frozen=True)
class EnergyConservation(Benchmark):
    """Runs of `steps` of `timestep` (fs) for `molecules` molecules of up to `most_atoms`, each with `seeds` seeds."""

    metrics = (
        Metric("drift", "meV/atom/ps", threshold=1.0),
        Metric("half_step_drift", "meV/atom/ps"),
        Metric("time_step_order", "1", ideal=2.0),
        Metric("exchange", "1"),
    )
    plots = (Plot("series", "energy", "time", "total energy", "time (ps)", "energy (eV)"),)
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
        molecules = small_molecules(scope, self.molecules, self.most_atoms) or scope.survey.clusters()[:1]
        species = {int(z) for _, structure in molecules for z in structure.numbers}
        for name, structure in [*molecules, *usual_crystal(scope.survey, species)]:
            yield Case(name, self._jobs(structure), {"atoms": len(structure)})

    def _jobs(self, structure: Structure) -> dict[str, Job]:
        """Both time steps over the same time, for each seed."""
        jobs: dict[str, Job] = {}
        for role, part in (("run", 1), ("fine", 2)):
            steps, interval, timestep = self.steps * part, self.interval * part, self.timestep / part
            job = Dynamics(structure, "nve", timestep=timestep, steps=steps, interval=interval)
            jobs |= replicas(job, self.seeds, role)
        return jobs

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """Drift, its dependence on the time step, and whether kinetic and potential energy turn into each other."""
        coarse, fine, atoms = runs_of(outcomes), runs_of(outcomes, "fine"), int(case.context["atoms"])
        if reason := stopped([*coarse, *fine]):
            return failed(case, reason)
        drift, half = (pooled([self._drift(r, atoms, n) for r in runs]) for runs, n in ((coarse, 1), (fine, 2)))
        shares = [energy_exchange(run) for run in coarse]
        exchange = float(np.mean([share for _, share in shares]))
        values = {"drift": drift.value, "half_step_drift": half.value, "exchange": exchange}
        noise = [float(np.mean([np.std(total_energies(run)) for run in runs])) for runs in (coarse, fine)]
        values |= {"time_step_order": log2(noise[0] / noise[1])} if min(noise) > 0.0 else {}
        energy = total_energies(coarse[0])
        detail = {"time": thinned(times(coarse[0], self.timestep)), "energy": thinned(energy - energy[0]), "unit": "eV"}
        heat = BOLTZMANN * 300.0 * np.sqrt(1.5 * atoms)
        errors = {"drift": drift.stderr, "half_step_drift": half.stderr}
        if reason := _unmoved(min(moved for moved, _ in shares) / heat, exchange):
            return failed(case, reason, values, detail, errors)
        limits = {"drift": max(1.0, 2.0 * (drift.stderr or 0.0))}
        return Observation(case.id, OK, values, detail=detail, tolerances=limits, stderr=errors)

    def _drift(self, run: Outcome, atoms: int, part: int) -> Average:
        clock, energies = times(run, self.timestep / part), total_energies(run)
        start = int(SETTLING * len(clock))
        return drift_with_memory(clock[start:], 1000.0 * energies[start:] / atoms, MEMORY)


def _unmoved(moved: float, exchange: float) -> str:
    """Why there is no energy to conserve; `moved` is the fluctuation of kinetic energy over a thermal system's."""
    if moved < STILL:
        return "the kinetic energy never changes: there are no forces"
    if exchange > UNBALANCED:
        return (
            f"kinetic and potential energy do not turn into each other: their sum changes {exchange:.2g} times as much"
        )
    return ""
