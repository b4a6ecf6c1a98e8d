"""The state of a running simulation: positions, velocities, forces, cell, random numbers and barostat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.analysis.motion import bonded_pairs, molecules_of, unwrapped_molecules
from assay.compute.protocols.integrators import (
    Barostat,
    kinetic_energy,
    standard_masses,
    thermal_velocities,
    without_drift,
    without_rotation,
)
from assay.configurations import radius
from assay.jobs import Dynamics
from assay.outcome import Point
from assay.structure import Floats, Structure
from assay.units import BAR

FIRST_CHANGE = 0.01
"""The first change of volume that the barostat tries, as a fraction of the volume."""


@dataclass
class Simulation:
    """A running simulation in Å, fs, eV and amu."""

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
        """The atoms at their current positions."""
        start = self.job.structure
        return Structure(start.numbers, self.positions.copy(), self.cell, start.pbc, start.charge, start.spin)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the kinetic energy; without a thermostat, drift and rotation remain zero."""
        count = len(self.masses)
        if self.job.ensemble != "nve":
            return 3 * count
        free = not any(self.job.structure.pbc)
        return max(3 * count - (6 if free and count > 2 else 5 if free and count == 2 else 3), 1)

    def take(self, point: Point) -> None:
        """Use the energy and forces of the model for the current positions."""
        self.energy, self.forces = point.energy, point.forces

    def row(self) -> tuple[float, ...]:
        """The numbers of a frame, in the order of `trajectory.SERIES`."""
        volume = abs(float(np.linalg.det(self.cell))) if any(self.job.structure.pbc) else 0.0
        return float(self.step), self.energy, kinetic_energy(self.velocities, self.masses), volume

    def state(self) -> dict[str, Any]:
        """Everything that another process needs to continue with exactly the same numbers."""
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


def new_simulation(job: Dynamics) -> Simulation:
    """A simulation at its start: thermal velocities, in NVE without drift and, for free molecules, without rotation."""
    masses, random = standard_masses(job.structure.numbers), np.random.default_rng(job.seed)
    positions = np.array(job.structure.positions, dtype=float)
    velocities = thermal_velocities(masses, job.temperature, random)
    if job.ensemble == "nve":
        velocities = without_drift(velocities, masses)
        if not any(job.structure.pbc):
            velocities = without_rotation(positions, velocities, masses)
    simulation = Simulation(job, masses, positions, velocities, np.array(job.structure.cell, dtype=float), random)
    if job.ensemble == "npt":
        pairs, vectors = bonded_pairs(job.structure, covalent_radii(job))
        simulation.positions = unwrapped_molecules(job.structure, pairs, vectors)
        size, molecules = FIRST_CHANGE * job.structure.volume, molecules_of(pairs, len(masses))
        simulation.barostat = Barostat(job.temperature, job.pressure * BAR, molecules, size)
    return simulation


def resumed_simulation(job: Dynamics, state: Mapping[str, Any]) -> Simulation:
    """A simulation with the state that an earlier process saved."""
    simulation = new_simulation(job)
    simulation.positions, simulation.velocities = np.array(state["positions"]), np.array(state["velocities"])
    simulation.cell, simulation.forces = np.array(state["cell"]), np.array(state["forces"])
    simulation.energy, simulation.step = float.fromhex(state["energy"]), int(state["step"])
    simulation.random.bit_generator.state = state["random"]
    if simulation.barostat is not None:
        largest, simulation.barostat.tried, simulation.barostat.accepted = state["barostat"]
        simulation.barostat.largest = float.fromhex(largest)
    return simulation


def covalent_radii(job: Dynamics) -> Floats:
    """Covalent radius (Å) of each atom."""
    return np.array([radius(int(z)) for z in job.structure.numbers])
