"""What benchmarks of simulations share: runs that differ in their seed, quantities of every frame, sound or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.blocks import Average, average
from assay.analysis.events import STABLE, TOO_SHORT, RunJudgement, judge_run
from assay.analysis.fluctuations import energy_fluctuations, pooled
from assay.analysis.motion import Problem
from assay.analysis.topology import Topology
from assay.benchmark import Case, failed
from assay.configurations import radius, symbol
from assay.errors import AssayError
from assay.jobs import Data, Dynamics, Job
from assay.observation import Observation
from assay.outcome import FAILED, Outcome
from assay.reasons import counted
from assay.structure import Floats, Structure
from assay.units import BOLTZMANN

KEPT_POINTS = 500
"""Most points of a series that are kept for plots."""

CHUNK_NUMBERS = 200_000
"""Coordinates that are in memory at a time."""


def replicas(job: Dynamics, seeds: int, name: str = "run") -> dict[str, Job]:
    """The same run with each of `seeds` seeds: `run1`, `run2` and so on."""
    if seeds < 1:
        raise AssayError(f"a simulation cannot be run with '{seeds}' seeds; give 1 or more")
    return {f"{name}{number + 1}": replace(job, seed=job.seed + number) for number in range(seeds)}


def runs_of(outcomes: Mapping[str, Outcome], name: str = "run") -> list[Outcome]:
    """The outcomes of `run1`, `run2` and so on, in this order."""
    numbers = sorted(int(role.removeprefix(name)) for role in outcomes if role.removeprefix(name).isdigit())
    return [outcomes[f"{name}{number}"] for number in numbers]


def stopped(runs: Sequence[Outcome]) -> str:
    """Why runs stopped; empty if all went to their end."""
    return counted(run.reason for run in runs if run.status == FAILED)


def followed(run: Outcome, quantity: Callable[[Floats], Floats]) -> Floats:
    """A quantity of every frame, from positions (frames, atoms, 3), read a chunk at a time."""
    parts = [quantity(frames.positions) for frames in run.trajectory().chunks(_frames_at_a_time(run))]
    return np.concatenate(parts) if parts else np.zeros(0)


def times(run: Outcome, timestep: float = 1.0) -> Floats:
    """The time (ps) of every frame of a run with this time step (fs)."""
    return np.asarray(run.trajectory().series("step") * timestep / 1000.0)


def temperatures(run: Outcome) -> Floats:
    """The temperature (K) of every frame."""
    return np.asarray(2.0 * run.trajectory().series("kinetic") / (BOLTZMANN * int(run.values["freedom"])))


def total_energies(run: Outcome) -> Floats:
    """Kinetic plus potential energy (eV) of every frame."""
    frames = run.trajectory()
    return np.asarray(frames.series("energy") + frames.series("kinetic"))


def energy_exchange(run: Outcome) -> tuple[float, float]:
    """The fluctuation of the kinetic energy (eV), and that of the total energy relative to its larger part."""
    frames = run.trajectory()
    return energy_fluctuations(frames.series("energy"), frames.series("kinetic"))


def mean_temperature(runs: Sequence[Outcome]) -> Average:
    """The mean temperature (K) of the second halves of all runs, with what the integrator is known to leave out.

    Velocities after complete steps are too cold by (ω Δt)² / 4. What they lack is the mean temperature of half a kick,
    which each run reports; results of earlier versions have none.
    """
    means = [average((series := temperatures(run))[len(series) // 2 :]) for run in runs]
    lacking = [float(run.values.get("kick_temperature", 0.0)) for run in runs]
    return pooled([mean._replace(value=mean.value + more) for mean, more in zip(means, lacking, strict=True)])


def body_of(structure: Structure) -> dict[str, object]:
    """What the atoms are and which are bonded at the start, for the context of a case."""
    symbols = [symbol(int(z)) for z in structure.numbers]
    body = Topology.build(structure, np.array([radius(int(z)) for z in structure.numbers]), symbols)
    arrays = {name: getattr(body, name) for name in ("numbers", "radii", "pairs", "offsets", "cell")}
    return {**arrays, "symbols": symbols}


def judged(body: Data, run: Outcome, target: float = 300.0) -> RunJudgement:
    """Whether one run is sound, from `body_of` its start; a run that stopped is judged by the frames that it has."""
    arrays = [np.asarray(body[name]) for name in ("numbers", "radii", "pairs", "offsets", "cell")]
    start = Topology(
        arrays[0], arrays[1], arrays[2].reshape(-1, 2), arrays[3].reshape(-1, 3), arrays[4], body["symbols"]
    )
    expected, freedom = (int(run.values[name]) for name in ("expected_frames", "freedom"))
    ended = Problem(str(run.values["stopped"]), str(run.values["stopped_cause"]))
    return judge_run(_frames(run), start, target, expected, freedom, ended, _renewal(run))


def _renewal(run: Outcome) -> float:
    """The friction of the thermostat times the time between two frames."""
    clock = times(run)
    return Dynamics.friction * float(clock[1] - clock[0]) if len(clock) > 1 else 1.0


def failed_run(case: Case, runs: Sequence[Outcome], seen: Observation | None = None) -> Observation | None:
    """A failed case if a run stopped or, once its numbers are `seen`, if the molecule broke, heated up or stood still.

    None if all runs are sound.
    """
    if reason := stopped(runs):
        return failed(case, reason)
    if seen is None:
        return None
    for run in (judged(case.context["body"], run) for run in runs):
        if run.kind not in (STABLE, TOO_SHORT):
            return replace(seen, status=FAILED, reason=f"{run.kind} at frame {run.frame}: {run.reason}")
    return None


def marked_unresolved(seen: Observation, names: Sequence[str]) -> Observation:
    """The observation without scores for values that the runs are too short to judge."""
    if not names:
        return seen
    return replace(seen, unresolved=tuple(names), reason=f"the runs are too short to judge {' and '.join(names)}")


def _frames(run: Outcome) -> Iterator[tuple[Floats, Floats]]:
    scale = 2.0 / (BOLTZMANN * int(run.values["freedom"]))
    for frames in run.trajectory().chunks(_frames_at_a_time(run)):
        yield frames.positions, scale * frames.series["kinetic"]


def _frames_at_a_time(run: Outcome) -> int:
    return max(CHUNK_NUMBERS // (3 * int(run.values["natoms"])), 1)


def thinned(series: Floats) -> Floats:
    """At most `KEPT_POINTS` points of a series, evenly spread, as a plot needs them."""
    return series[:: max(-(-len(series) // KEPT_POINTS), 1)]
