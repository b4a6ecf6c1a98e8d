"""Molecular dynamics: the atoms move under the forces of the model; a problem stops the run and is reported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.analysis.motion import NO_PROBLEM, Problem, frame_problem
from assay.compute.protocols import Ending, Requests
from assay.compute.protocols.integrators import Barostat, Langevin, temperature
from assay.compute.protocols.simulation import Simulation, covalent_radii, new_simulation, resumed_simulation
from assay.compute.protocols.watching import Watching
from assay.jobs import Dynamics
from assay.outcome import FAILED, OK
from assay.structure import Floats, Structure


class FrameWriter(Protocol):
    """Writes the frames of a run and the states from which an interrupted run continues."""

    def resume(self) -> dict[str, Any] | None:
        """The state after the last complete chunk; None if there is none."""
        ...

    def written(self) -> Iterable[Floats]:
        """The positions of all frames up to that state, in chunks of the shape (frames, atoms, 3)."""
        ...

    def add(self, positions: Floats, row: tuple[float, ...]) -> bool:
        """Add a frame; true if the state should be saved now."""
        ...

    def save(self, state: Mapping[str, Any]) -> None:
        """Write all frames since the last call, and the state after them."""
        ...

    def finish(self, state: Mapping[str, Any]) -> str:
        """Complete the trajectory; returns its file name."""
        ...

    @property
    def overtaken_by(self) -> Mapping[str, Any] | None:
        """The state at the end of the trajectory, if another process finished it first: its frames count."""
        ...


def run_dynamics(job: Dynamics, writer: FrameWriter) -> Requests[Ending]:
    """Run a simulation to its end, or to the first problem: then the job has failed, with the step and the reason."""
    saved = writer.resume()
    simulation = new_simulation(job) if saved is None else resumed_simulation(job, saved)
    integrator = Langevin.build(
        simulation.masses, job.timestep, job.temperature, 0.0 if job.ensemble == "nve" else job.friction / 1000.0
    )
    record = RunRecord(job, writer, simulation, integrator)
    if saved is not None:
        record.restore(saved)
    else:
        (point,) = yield [simulation.structure]
        if not point.ok:
            return Ending(FAILED, {}, point.reason, point.cause)
        simulation.take(point)
        record.add_frame()
    while simulation.step < job.steps and not record.over:
        integrator.drift(simulation.positions, simulation.velocities, simulation.forces, simulation.random)
        simulation.step += 1
        (point,) = yield [simulation.structure]
        if not point.ok:
            record.problem = Problem(point.reason, point.cause)
            break
        simulation.take(point)
        integrator.kick(simulation.velocities, simulation.forces)
        if simulation.barostat is not None and simulation.step % job.volume_interval == 0:
            yield from _try_volume(simulation, simulation.barostat)
        if simulation.step % job.interval == 0:
            record.add_frame()
    return record.end()


def _try_volume(simulation: Simulation, barostat: Barostat) -> Requests[None]:
    """One attempt of the barostat; if the model refuses the new cell, the attempt is rejected and the run continues."""
    trial = barostat.scaled(simulation.positions, simulation.cell, simulation.random)
    if trial is None:
        return
    positions, cell = trial
    old, new = (abs(float(np.linalg.det(c))) for c in (simulation.cell, cell))
    start = simulation.job.structure
    (point,) = yield [Structure(start.numbers, positions, cell, start.pbc, start.charge, start.spin)]
    if point.ok and barostat.accepts((simulation.energy, point.energy), (old, new), simulation.random):
        simulation.positions, simulation.cell = positions, cell
        simulation.take(point)


@dataclass
class RunRecord:
    """The frames of a run so far: writes and counts them, and finds problems."""

    job: Dynamics
    writer: FrameWriter
    simulation: Simulation
    integrator: Langevin
    frames: int = 0
    problem: Problem = NO_PROBLEM
    precise_enough: bool = False
    """True if the standard errors of all watched quantities are below the limit of the job."""

    _last_temperature: float = 0.0
    _kicks: tuple[float, int] = (0.0, 0)
    """Sum of the temperatures of half a kick (K), and number of frames, without the first fifth of the planned run."""

    def __post_init__(self) -> None:
        self.radii = covalent_radii(self.job)
        self.watching = Watching(self.job)
        self.frames = self.simulation.step // self.job.interval + 1 if self.simulation.forces.size else 0

    @property
    def over(self) -> bool:
        """True if the run has a problem or is precise enough."""
        return bool(self.problem.reason) or self.precise_enough

    def add_frame(self) -> None:
        """Write a frame and decide whether the run can continue."""
        row = self.simulation.row()
        self.frames += 1
        due = self.writer.add(self.simulation.positions, row)
        kelvin = temperature(row[2], self.simulation.freedom)
        self.problem = frame_problem(
            self.simulation.structure, self.radii, kelvin, self.job.temperature, self._last_temperature
        )
        self._last_temperature = kelvin
        self._add_kick()
        self.watching.add(self.simulation.positions)
        self.precise_enough = self.watching.precise_enough
        if due and not self.problem.reason:
            self.writer.save(self.state())

    def _add_kick(self) -> None:
        energy = self.integrator.kick_energy(self.simulation.forces, self.simulation.masses)
        total, count = self._kicks
        if math.isfinite(energy) and 5 * self.simulation.step >= self.job.steps:
            self._kicks = (total + temperature(energy, self.simulation.freedom), count + 1)

    def state(self) -> dict[str, Any]:
        """The state of the simulation and of this record."""
        own = {
            "before": self._last_temperature.hex(),
            "reason": self.problem.reason,
            "cause": self.problem.cause,
            "kicks": [self._kicks[0].hex(), self._kicks[1]],
        }
        return {**self.simulation.state(), **own}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Set this record to the state that an earlier process saved."""
        self._last_temperature = float.fromhex(saved["before"])
        self.problem = Problem(str(saved["reason"]), str(saved.get("cause", "")))
        total, count = saved.get("kicks", ["0x0p+0", 0])  # a state of an earlier version has none
        self._kicks = (float.fromhex(total), int(count))
        self.watching.restore(self.writer.written())
        # The earlier process may have been killed after it was precise enough and before it ended the run.
        self.precise_enough = self.watching.precise_enough

    def end(self) -> Ending:
        """Complete the trajectory and return the values that are stored beside it."""
        name = self.writer.finish(self.state())
        first = self.writer.overtaken_by
        return self._ending(name) if first is None else self._at(first)._ending(name)

    def _at(self, kept: Mapping[str, Any]) -> RunRecord:
        """The record of the trajectory that another process finished with this state."""
        record = RunRecord(self.job, self.writer, resumed_simulation(self.job, kept), self.integrator)
        record.restore(kept)
        return record

    def _ending(self, name: str) -> Ending:
        reason, cause = self.problem
        values = {
            "natoms": len(self.simulation.masses),
            "trajectory": name,
            "frames": self.frames,
            "steps": self.simulation.step,
            "expected_frames": self.job.steps // self.job.interval + 1,
            "freedom": self.simulation.freedom,
            "stopped": reason,
            "stopped_cause": cause,
            "stopped_at_frame": self.frames - 1 if reason else None,
            "sure_enough": self.precise_enough,
            "kick_temperature": self._kicks[0] / self._kicks[1] if self._kicks[1] else 0.0,
        }
        if not reason:
            return Ending(OK, values)
        return Ending(FAILED, values, f"at step {self.simulation.step}: {reason}", cause)
