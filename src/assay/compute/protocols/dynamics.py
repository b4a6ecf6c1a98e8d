"""Molecular dynamics: atoms move under the model's forces; what goes wrong stops the run at once, and is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from assay.analysis.motion import NO_PROBLEM, Problem, bonded_pairs, frame_problem, molecules_of, unwrapped_molecules
from assay.compute.protocols import Asking, Ending
from assay.compute.protocols.integrators import (
    Barostat,
    Langevin,
    kinetic_energy,
    standard_masses,
    temperature,
    thermal_velocities,
    without_drift,
    without_rotation,
)
from assay.compute.protocols.watching import Watching
from assay.configurations import radius
from assay.jobs import Dynamics
from assay.outcome import FAILED, OK, Point
from assay.structure import Floats, Structure
from assay.units import BAR

FIRST_CHANGE = 0.01
"""The first change of volume that the barostat tries, as a fraction."""


class Notes(Protocol):
    """Where frames go and where an interrupted run is found again."""

    def resume(self) -> dict[str, Any] | None:
        """The state after the last whole chunk."""
        ...

    def add(self, positions: Floats, row: tuple[float, ...]) -> bool:
        """Keep a frame; true when the state should be saved."""
        ...

    def save(self, state: Mapping[str, Any]) -> None:
        """Write frames and the state after them."""
        ...

    def finish(self, state: Mapping[str, Any]) -> str:
        """Close the trajectory; returns its name."""
        ...


@dataclass
class Motion:
    """A running simulation: where everything is, how fast, and the random numbers to come."""

    job: Dynamics
    masses: Floats
    positions: Floats
    velocities: Floats
    cell: Floats
    random: np.random.Generator
    step: int = 0
    energy: float = 0.0
    forces: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    barostat: Barostat | None = None

    @property
    def structure(self) -> Structure:
        """The atoms where they are now."""
        start = self.job.structure
        return Structure(start.numbers, self.positions.copy(), self.cell, start.pbc, start.charge, start.spin)

    @property
    def freedom(self) -> int:
        """Degrees of freedom that share the kinetic energy; without a thermostat drift and rotation stay at zero."""
        count = len(self.masses)
        if self.job.ensemble != "nve":
            return 3 * count
        free = not any(self.job.structure.pbc)
        return max(3 * count - (6 if free and count > 2 else 5 if free and count == 2 else 3), 1)

    def take(self, point: Point) -> None:
        """Use the answer of the model for where the atoms are now."""
        self.energy, self.forces = point.energy, point.forces

    def row(self) -> tuple[float, ...]:
        """The numbers of a frame, in the order of `trajectory.SERIES`."""
        volume = abs(float(np.linalg.det(self.cell))) if any(self.job.structure.pbc) else 0.0
        return float(self.step), self.energy, kinetic_energy(self.velocities, self.masses), volume

    def state(self) -> dict[str, Any]:
        """Everything that a later process needs to go on exactly as this one would have."""
        barostat = self.barostat
        return {
            "positions": self.positions,
            "velocities": self.velocities,
            "cell": self.cell,
            "forces": self.forces,
            "energy": self.energy.hex(),
            "step": self.step,
            "random": self.random.bit_generator.state,
            "barostat": [barostat.largest.hex(), barostat.tried, barostat.accepted] if barostat else None,
        }


def begin(job: Dynamics) -> Motion:
    """A simulation at its start: thermal velocities, and in free runs without drift or rotation."""
    masses, random = standard_masses(job.structure.numbers), np.random.default_rng(job.seed)
    positions = np.array(job.structure.positions, dtype=float)
    velocities = thermal_velocities(masses, job.temperature, random)
    if job.ensemble == "nve":
        velocities = without_drift(velocities, masses)
        if not any(job.structure.pbc):
            velocities = without_rotation(positions, velocities, masses)
    motion = Motion(job, masses, positions, velocities, np.array(job.structure.cell, dtype=float), random)
    if job.ensemble == "npt":
        pairs, vectors = bonded_pairs(job.structure, _radii(job))
        motion.positions = unwrapped_molecules(job.structure, pairs, vectors)
        size, molecules = FIRST_CHANGE * job.structure.volume, molecules_of(pairs, len(masses))
        motion.barostat = Barostat(job.temperature, job.pressure * BAR, molecules, size)
    return motion


def _radii(job: Dynamics) -> Floats:
    return np.array([radius(int(z)) for z in job.structure.numbers])


def go_on(job: Dynamics, state: Mapping[str, Any]) -> Motion:
    """A simulation where an earlier process left it."""
    motion = begin(job)
    motion.positions, motion.velocities = np.array(state["positions"]), np.array(state["velocities"])
    motion.cell, motion.forces = np.array(state["cell"]), np.array(state["forces"])
    motion.energy, motion.step = float.fromhex(state["energy"]), int(state["step"])
    motion.random.bit_generator.state = state["random"]
    if motion.barostat is not None:
        largest, motion.barostat.tried, motion.barostat.accepted = state["barostat"]
        motion.barostat.largest = float.fromhex(largest)
    return motion


def run_dynamics(job: Dynamics, notes: Notes) -> Asking[Ending]:
    """The simulation to its end, or to where it goes wrong: then it has failed, with the frame and the reason."""
    saved = notes.resume()
    motion = begin(job) if saved is None else go_on(job, saved)
    course = Course(job, notes, motion)
    if saved is not None:
        course.recall(saved)
    else:
        (point,) = yield [motion.structure]
        if not point.ok:
            return Ending(FAILED, {}, point.reason, point.cause)
        motion.take(point)
        course.frame()
    integrator = Langevin.build(
        motion.masses, job.timestep, job.temperature, 0.0 if job.ensemble == "nve" else job.friction / 1000.0
    )
    while motion.step < job.steps and not course.over:
        integrator.drift(motion.positions, motion.velocities, motion.forces, motion.random)
        motion.step += 1
        (point,) = yield [motion.structure]
        if not point.ok:
            course.trouble = Problem(point.reason, point.cause)
            break
        motion.take(point)
        integrator.kick(motion.velocities, motion.forces)
        if motion.barostat is not None and motion.step % job.volume_interval == 0:
            yield from _another_volume(motion, motion.barostat)
        if motion.step % job.interval == 0:
            course.frame()
    return course.end()


def _another_volume(motion: Motion, barostat: Barostat) -> Asking[None]:
    """An attempt of the barostat; a model that refuses the other cell has refused that volume, not the run."""
    positions, cell = barostat.scaled(motion.positions, motion.cell, motion.random)
    old, new = (abs(float(np.linalg.det(c))) for c in (motion.cell, cell))
    start = motion.job.structure
    (point,) = yield [Structure(start.numbers, positions, cell, start.pbc, start.charge, start.spin)]
    if point.ok and barostat.accepts((motion.energy, point.energy), (old, new), motion.random):
        motion.positions, motion.cell = positions, cell
        motion.take(point)


@dataclass
class Course:
    """The frames of a run so far: written down, looked at, and counted."""

    job: Dynamics
    notes: Notes
    motion: Motion
    frames: int = 0
    trouble: Problem = NO_PROBLEM
    sure: bool = False
    _before: float = 0.0

    def __post_init__(self) -> None:
        self.radii = _radii(self.job)
        self.watching = Watching(self.job)
        self.frames = self.motion.step // self.job.interval + 1 if self.motion.forces.size else 0

    @property
    def over(self) -> bool:
        """True when the run has gone wrong, or is sure enough."""
        return bool(self.trouble.reason) or self.sure

    def frame(self) -> None:
        """Keep a frame and see whether the run can go on from it."""
        row = self.motion.row()
        self.frames += 1
        due = self.notes.add(self.motion.positions, row)
        kelvin = temperature(row[2], self.motion.freedom)
        self.trouble = frame_problem(self.motion.structure, self.radii, kelvin, self.job.temperature, self._before)
        self._before = kelvin
        self.watching.add(self.motion.positions)
        self.sure = self.watching.sure
        if due and not self.trouble.reason:
            self.notes.save(self.state())

    def state(self) -> dict[str, Any]:
        """The state of the motion, and what has been seen of it."""
        seen = {"before": self._before.hex(), "reason": self.trouble.reason, "cause": self.trouble.cause}
        return {**self.motion.state(), **self.watching.state(), **seen}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Know again what an earlier process had seen."""
        self._before = float.fromhex(saved["before"])
        self.trouble = Problem(str(saved["reason"]), str(saved.get("cause", "")))
        self.watching.recall(saved)
        self.sure = self.watching.sure  # it may have been killed after it knew enough and before it said so

    def end(self) -> Ending:
        """What is kept of the run beside its trajectory."""
        name, (reason, cause) = self.notes.finish(self.state()), self.trouble
        values = {
            "natoms": len(self.motion.masses),
            "trajectory": name,
            "frames": self.frames,
            "steps": self.motion.step,
            "expected_frames": self.job.steps // self.job.interval + 1,
            "freedom": self.motion.freedom,
            "stopped": reason,
            "stopped_cause": cause,
            "stopped_at_frame": self.frames - 1 if reason else None,
            "sure_enough": self.sure,
        }
        if not reason:
            return Ending(OK, values)
        return Ending(FAILED, values, f"at step {self.motion.step}: {reason}", cause)
