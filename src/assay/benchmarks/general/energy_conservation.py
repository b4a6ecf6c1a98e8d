"""Energy is conserved when nothing is coupled to the system.

Forces that are not the gradient of the energy, jumps at a cutoff and numbers of too few digits heat or cool every
simulation; a thermostat hides that, and changes what it is meant to sample.

Protocol: NVE from structures with velocities of 300 K, once with the time step `timestep` and once with half of it over
the same time. Systems: the smallest ring molecule and systems of the stability data, or a cluster if the model supports
none of them, and a crystal of the same elements (ice, or a cubic one) if it supports periodic systems.
- drift: absolute slope of the total energy over the last four fifths of the time, per atom; the mean over seeds. Good
  up to 1 meV/atom/ps, which heats by 4 K/ps and moves a run with a friction of 2/ps by 1 K. A run whose error does not
  allow to tell (twice the standard error is above that, and the drift is not) has no score. The sign is `signed_drift`.
- half_step_drift: the same at half the time step; a drift that stays is the model's, not the integrator's (reported).
- time_step_order: power of the time step with which fast fluctuations of the total energy fall, measured from straight
  lines through ten frames; 2 if smooth. The system fails below 1 or above 3, beyond twice the standard error: then most
  of the fluctuation at half the time step is not the integrator's. It is not resolved, and fails nothing, if the runs
  are too short, if the fluctuation is the rounding of single precision, or if it is below 0.05 % of that of the kinetic
  energy.
- exchange: fluctuation of the total energy over that of kinetic or potential energy, whichever is larger. Above 0.3, or
  if the kinetic energy never changes, the system fails: without forces there is nothing to conserve.
- Score of a system: that of drift.
Reference: exact conservation.
Cite: MLIPAudit, whose ratio of drift to fluctuation depends on the size of the system.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from statistics import fmean

import numpy as np

from assay.analysis.blocks import Average
from assay.analysis.fluctuations import absolute_mean, drift_with_memory
from assay.analysis.thermal import unresolved
from assay.analysis.time_step import fast_variances, rounding, time_step_order
from assay.benchmark import Benchmark, Case, Scope, failed
from assay.benchmarks.bases.records import small_molecules
from assay.benchmarks.bases.runs import (
    energy_exchange,
    marked_unresolved,
    replicas,
    runs_of,
    stopped,
    thinned,
    times,
    total_energies,
)
from assay.benchmarks.builders.crystals import usual_crystal
from assay.jobs import Dynamics, Job
from assay.observation import Metric, Observation, Plot
from assay.outcome import OK, Outcome
from assay.structure import Floats, Structure
from assay.units import BOLTZMANN

GOOD = 1.0
"""Good up to this drift (meV/atom/ps)."""

SMALL = 5e-4
"""Fluctuations of the total energy below this part of those of the kinetic energy do no harm, whatever their order.
Forces that are 10 % too large have 4e-3, steps of 3 meV 2e-3; the noise of electrons that are nearly converged 1e-5."""

UNBALANCED, MEMORY = 0.3, 0.5
"""Largest exchange; time (ps) for which the error of the integrator may go in one direction."""

SETTLING = 0.2
"""This part of a run, in which heat spreads from motion to bonds, does not count: there the integrator errs anew."""

STILL = 0.02
"""Kinetic energy that fluctuates by less than this part of a thermal system's is not changed by any force."""


@dataclass(frozen=True)
class EnergyConservation(Benchmark):
    """Runs of `steps` of `timestep` (fs) for `molecules` molecules of up to `most_atoms`, each with `seeds` seeds."""

    version = 2
    metrics = (
        Metric("drift", "meV/atom/ps", threshold=GOOD, counts_failed=True),
        Metric("half_step_drift", "meV/atom/ps", counts_failed=True),
        Metric("time_step_order", "1", ideal=2.0, counts_failed=True),
        Metric("exchange", "1", counts_failed=True),
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
            yield Case(name, self._jobs(structure), {"atoms": len(structure), "precision": scope.survey.precision})

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
        drifts, halves = ([self._drift(r, atoms, n) for r in runs] for runs, n in ((coarse, 1), (fine, 2)))
        drift, half = absolute_mean(drifts), absolute_mean(halves)
        shares = [energy_exchange(run) for run in coarse]
        exchange = float(np.mean([share for _, share in shares]))
        signed = float(np.mean([d.value for d in drifts]))
        values = {"drift": drift.value, "half_step_drift": half.value, "signed_drift": signed, "exchange": exchange}
        errors = {"drift": drift.stderr, "half_step_drift": half.stderr}
        order = time_step_order([settled(r) for r in coarse], [settled(r) for r in fine])
        values |= {} if order is None else {"time_step_order": order.value}
        errors |= {} if order is None else {"time_step_order": order.stderr}
        energy = total_energies(coarse[0])
        detail = {"time": thinned(times(coarse[0], self.timestep)), "energy": thinned(energy - energy[0]), "unit": "eV"}
        values = {name: value for name, value in values.items() if isfinite(value)}  # too few frames have no slope
        heat = BOLTZMANN * 300.0 * np.sqrt(1.5 * atoms)
        wrong = _wrong_order(order, coarse, fine, case.context.get("precision") == "float32")
        if reason := _unmoved(min(moved for moved, _ in shares) / heat, exchange) or wrong:
            return failed(case, reason, values, detail, errors)
        # The mean of absolute values does not fall with the number of seeds, so the error of a single run counts.
        known = sqrt(fmean((d.stderr or 0.0) ** 2 for d in drifts))
        limits = {"drift": max(GOOD, 2.0 * known)}
        seen = Observation(case.id, OK, values, detail=detail, tolerances=limits, stderr=errors)
        poor = not isfinite(drift.value) or unresolved(drift.value, known, GOOD)
        return marked_unresolved(seen, ["drift"] if poor else [])

    def _drift(self, run: Outcome, atoms: int, part: int) -> Average:
        clock, energies = times(run, self.timestep / part), total_energies(run)
        start = int(SETTLING * len(clock))
        return drift_with_memory(clock[start:], 1000.0 * energies[start:] / atoms, MEMORY)


def settled(run: Outcome) -> Floats:
    """The total energies (eV) after the first fifth of a run."""
    energies = total_energies(run)
    return energies[int(SETTLING * len(energies)) :]


def _wrong_order(order: Average | None, coarse: Sequence[Outcome], fine: Sequence[Outcome], single: bool) -> str:
    """Why fluctuations of the energy do not come from the integrator; empty if they do or if that is not resolved.

    `single` is true for a model in single precision, also where its energies are sums with others.
    """
    if order is None or abs(order.value - 2.0) <= 1.0 + 2.0 * (order.stderr or 0.0):
        return ""
    large, small = (fmean(float(fast_variances(settled(run)).mean()) for run in runs) for runs in (coarse, fine))
    strange = small - large / 16.0 if order.value < 2.0 else large
    moved = fmean(energy_exchange(run)[0] for run in fine)
    rounded = max(rounding(run.trajectory().series("energy"), single) for run in fine)
    if sqrt(max(strange, 0.0)) < max(SMALL * moved, 4.0 * rounded):
        return ""
    return (
        f"the total energy fluctuates with the power {order.value:z.1f} ± {order.stderr or 0.0:.1f} of the time step "
        f"instead of 2: by {1000.0 * sqrt(small):.2g} meV at half of it, which is not the integrator's error"
    )


def _unmoved(moved: float, exchange: float) -> str:
    """Why there is no energy to conserve; `moved` is the fluctuation of kinetic energy over a thermal system's."""
    if moved < STILL:
        return "the kinetic energy never changes: there are no forces"
    if exchange > UNBALANCED:
        return (
            f"kinetic and potential energy do not turn into each other: their sum changes {exchange:.2g} times as much"
        )
    return ""
