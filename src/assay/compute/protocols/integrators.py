"""Motion in time: masses, velocities, one step of each ensemble. Plain numpy, so that every engine moves atoms alike.

Units: Å, fs, eV, amu, K. A force of 1 eV/Å on 1 amu accelerates by 0.00965 Å/fs².

Cite: Leimkuhler and Matthews, Appl. Math. Res. Express 2013, 34 (2013), the order of the parts of a Langevin step;
Chow and Ferguson, Comput. Phys. Commun. 91, 283 (1995), and Åqvist et al., Chem. Phys. Lett. 384, 288 (2004), the Monte
Carlo barostat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.structure import Floats
from assay.units import ACCELERATION, BOLTZMANN

TUNED = 500
"""Attempts of the barostat during which it looks for the right size of step."""


def standard_masses(numbers: NDArray[np.int64]) -> Floats:
    """Atomic masses (amu) of the elements as ASE has them."""
    from ase.data import atomic_masses

    return np.asarray(atomic_masses[numbers], dtype=float)


def kinetic_energy(velocities: Floats, masses: Floats) -> float:
    """Kinetic energy in eV, from velocities in Å/fs and masses in amu."""
    return 0.5 * float(np.einsum("ix,ix,i->", velocities, velocities, masses)) / ACCELERATION


def temperature(kinetic: float, freedom: int) -> float:
    """Temperature (K) of so many degrees of freedom that share a kinetic energy (eV)."""
    return 2.0 * kinetic / (BOLTZMANN * freedom) if freedom else 0.0


def thermal_velocities(masses: Floats, kelvin: float, random: np.random.Generator) -> Floats:
    """Velocities (Å/fs) drawn from the Maxwell-Boltzmann distribution."""
    spread = np.sqrt(BOLTZMANN * kelvin * ACCELERATION / masses)
    return np.asarray(random.standard_normal((len(masses), 3)) * spread[:, None])


def without_drift(velocities: Floats, masses: Floats) -> Floats:
    """Velocities without the motion of the centre of mass."""
    return np.asarray(velocities - masses @ velocities / masses.sum())


def without_rotation(positions: Floats, velocities: Floats, masses: Floats) -> Floats:
    """Velocities of a free body without its rotation; a line of atoms cannot turn about itself, which is left alone."""
    arms = positions - masses @ positions / masses.sum()
    momentum = (masses[:, None] * np.cross(arms, velocities)).sum(axis=0)
    inertia = np.einsum("i,ix,ix->", masses, arms, arms) * np.eye(3) - np.einsum("i,ix,iy->xy", masses, arms, arms)
    return np.asarray(velocities - np.cross(np.linalg.pinv(inertia, rcond=1e-9) @ momentum, arms))


@dataclass(frozen=True)
class Langevin:
    """The parts of a step between two forces: kick, drift, friction and noise, drift, and, with the new force, kick.

    Without friction this is velocity Verlet, which keeps the energy.
    """

    push: Floats
    """Half a time step over the mass: forces times this are added to velocities at both ends of a step."""

    half_time: float
    damping: float
    spread: Floats | None
    """Velocities lost to friction come back as noise of this width (Å/fs); None without a thermostat."""

    @classmethod
    def build(cls, masses: Floats, timestep: float, kelvin: float, friction: float) -> Langevin:
        """For a time step (fs), a temperature (K) and a friction (1/fs)."""
        damping = math.exp(-friction * timestep)
        noise = math.sqrt(1.0 - damping * damping)
        spread = noise * np.sqrt(BOLTZMANN * kelvin * ACCELERATION / masses)[:, None] if friction > 0.0 else None
        return cls((0.5 * timestep * ACCELERATION / masses)[:, None], 0.5 * timestep, damping, spread)

    def drift(self, positions: Floats, velocities: Floats, forces: Floats, random: np.random.Generator) -> None:
        """Everything of a step before the new force is known, in place."""
        velocities += self.push * forces
        positions += self.half_time * velocities
        if self.spread is not None:
            velocities *= self.damping
            velocities += self.spread * random.standard_normal(velocities.shape)
        positions += self.half_time * velocities

    def kick(self, velocities: Floats, forces: Floats) -> None:
        """The rest of a step, in place."""
        velocities += self.push * forces


@dataclass
class Barostat:
    """Tries another volume now and then and keeps it with the probability of the constant-pressure ensemble.

    Molecules move as wholes with their centres, so that bonds are not stretched. `largest` is the largest change that
    is tried (Å³). It is tuned until between a quarter and three quarters of the attempts are accepted, but only at the
    start of a run: a step that follows the volume would favour some volumes.
    """

    kelvin: float
    pressure: float
    """eV/Å³"""

    molecules: NDArray[np.int64]
    """The number of the molecule of each atom, from 0."""

    largest: float
    tried: int = 0
    """Attempts so far."""

    accepted: int = 0
    """Of the last ten or fewer, while the step is still tuned."""

    def scaled(self, positions: Floats, cell: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Another cell, with the centres of all molecules moved along."""
        volume = abs(float(np.linalg.det(cell)))
        change = self.largest * (2.0 * random.random() - 1.0)
        factor = max((volume + change) / volume, 0.5) ** (1.0 / 3.0)
        counts = np.bincount(self.molecules)
        centres = np.stack([np.bincount(self.molecules, positions[:, x]) for x in range(3)], axis=1) / counts[:, None]
        return positions + ((factor - 1.0) * centres)[self.molecules], factor * cell

    def accepts(self, energies: tuple[float, float], volumes: tuple[float, float], random: np.random.Generator) -> bool:
        """True when the new volume is kept; energies (eV) and volumes (Å³) are (old, new)."""
        heat = BOLTZMANN * self.kelvin
        work = energies[1] - energies[0] + self.pressure * (volumes[1] - volumes[0])
        weight = -work / heat + (int(self.molecules.max()) + 1) * math.log(volumes[1] / volumes[0])
        kept = weight >= 0.0 or random.random() < math.exp(weight)
        self._tune(kept)
        return kept

    def _tune(self, kept: bool) -> None:
        self.tried += 1
        if self.tried > TUNED:
            return
        self.accepted += kept
        if self.tried % 10 == 0:
            self.largest *= 1.1 if self.accepted > 7 else 1.0 / 1.1 if self.accepted < 3 else 1.0
            self.accepted = 0
