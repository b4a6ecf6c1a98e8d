"""Integrators: masses, velocities and one time step, in plain numpy, so that every engine moves atoms in the same way.

Units: Å, fs, eV, amu, K. A force of 1 eV/Å on 1 amu accelerates by 0.00965 Å/fs².

Cite: Leimkuhler and Matthews, Appl. Math. Res. Express 2013, 34 (2013), the order of operations in a Langevin step;
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
"""Number of attempts at the start of a run during which the barostat adjusts its largest change of volume."""


def standard_masses(numbers: NDArray[np.int64]) -> Floats:
    """Atomic masses (amu) from ASE."""
    from ase.data import atomic_masses

    return np.asarray(atomic_masses[numbers], dtype=float)


def kinetic_energy(velocities: Floats, masses: Floats) -> float:
    """Kinetic energy in eV, from velocities in Å/fs and masses in amu."""
    return 0.5 * float(np.einsum("ix,ix,i->", velocities, velocities, masses)) / ACCELERATION


def temperature(kinetic: float, freedom: int) -> float:
    """Temperature (K) from a kinetic energy (eV) and the number of degrees of freedom."""
    return 2.0 * kinetic / (BOLTZMANN * freedom) if freedom else 0.0


def thermal_velocities(masses: Floats, kelvin: float, random: np.random.Generator) -> Floats:
    """Random velocities (Å/fs) from the Maxwell-Boltzmann distribution."""
    spread = np.sqrt(BOLTZMANN * kelvin * ACCELERATION / masses)
    return np.asarray(random.standard_normal((len(masses), 3)) * spread[:, None])


def without_drift(velocities: Floats, masses: Floats) -> Floats:
    """Velocities without the motion of the centre of mass."""
    return np.asarray(velocities - masses @ velocities / masses.sum())


def without_rotation(positions: Floats, velocities: Floats, masses: Floats) -> Floats:
    """Velocities of a free molecule without its rotation; a linear molecule has no rotation about its axis."""
    vectors = positions - masses @ positions / masses.sum()
    momentum = (masses[:, None] * np.cross(vectors, velocities)).sum(axis=0)
    trace = np.einsum("i,ix,ix->", masses, vectors, vectors)
    inertia = trace * np.eye(3) - np.einsum("i,ix,iy->xy", masses, vectors, vectors)
    return np.asarray(velocities - np.cross(np.linalg.pinv(inertia, rcond=1e-9) @ momentum, vectors))


@dataclass(frozen=True)
class Langevin:
    """One time step: half kick, half drift, friction and noise, half drift, and half kick with the new forces.

    Without friction this is velocity Verlet, which conserves the energy. With friction the positions in a harmonic well
    of frequency ω have exactly the distribution of the target temperature. The velocities after a complete step do not:
    their temperature is too low by the factor 1 − (ω Δt)² / 4, which is 0.88 for an O-H bond at 1 fs. `kick_energy` is
    what they lack.
    """

    push: Floats
    """Half a time step divided by the mass: the change of a velocity (Å/fs) in half a kick per force (eV/Å)."""

    half_time: float
    damping: float
    spread: Floats | None
    """Standard deviation (Å/fs) of the random velocities of the thermostat; None without a thermostat."""

    @classmethod
    def build(cls, masses: Floats, timestep: float, kelvin: float, friction: float) -> Langevin:
        """For a time step (fs), a temperature (K) and a friction (1/fs)."""
        damping = math.exp(-friction * timestep)
        noise = math.sqrt(1.0 - damping * damping)
        spread = noise * np.sqrt(BOLTZMANN * kelvin * ACCELERATION / masses)[:, None] if friction > 0.0 else None
        return cls((0.5 * timestep * ACCELERATION / masses)[:, None], 0.5 * timestep, damping, spread)

    def drift(self, positions: Floats, velocities: Floats, forces: Floats, random: np.random.Generator) -> None:
        """The part of a step before the new forces are computed, in place."""
        velocities += self.push * forces
        positions += self.half_time * velocities
        if self.spread is not None:
            velocities *= self.damping
            velocities += self.spread * random.standard_normal(velocities.shape)
        positions += self.half_time * velocities

    def kick(self, velocities: Floats, forces: Floats) -> None:
        """The part of a step with the new forces, in place."""
        velocities += self.push * forces

    def kick_energy(self, forces: Floats, masses: Floats) -> float:
        """The kinetic energy (eV) of half a kick, Δt² F² / 8m: the mean energy after half kicks minus that of a step.

        Its mean in a harmonic well is (ω Δt)² / 4 of the thermal kinetic energy, so that both together are the latter.
        """
        return kinetic_energy(self.push * forces, masses)


@dataclass
class Barostat:
    """Tries changes of the volume and accepts them with the probability of the constant-pressure ensemble.

    Each molecule is shifted with its centre, so that bonds keep their length. `largest` is the largest change of volume
    (Å³) that is tried. It is adjusted until between 25 % and 75 % of the attempts are accepted, but only at the start
    of a run: a step that depends on the volume would favour some volumes.
    """

    kelvin: float
    pressure: float
    """In eV/Å³."""

    molecules: NDArray[np.int64]
    """The number of the molecule of each atom, from 0."""

    largest: float
    tried: int = 0
    """Number of attempts so far."""

    accepted: int = 0
    """Accepted attempts among the last ten or fewer, as long as `largest` is adjusted."""

    def scaled(self, positions: Floats, cell: Floats, random: np.random.Generator) -> tuple[Floats, Floats] | None:
        """A cell with another volume, and positions in which all molecules are shifted with it.

        None, which counts as a rejected attempt, for a volume below half or above twice the present one. Both are
        rejected, because a change that is never undone would favour some volumes.
        """
        volume = abs(float(np.linalg.det(cell)))
        ratio = 1.0 + self.largest * (2.0 * random.random() - 1.0) / volume
        if not 0.5 <= ratio <= 2.0:
            self._tune(False)
            return None
        factor = ratio ** (1.0 / 3.0)
        counts = np.bincount(self.molecules)
        centres = np.stack([np.bincount(self.molecules, positions[:, x]) for x in range(3)], axis=1) / counts[:, None]
        return positions + ((factor - 1.0) * centres)[self.molecules], factor * cell

    def accepts(self, energies: tuple[float, float], volumes: tuple[float, float], random: np.random.Generator) -> bool:
        """True if the new volume is accepted; energies (eV) and volumes (Å³) are (old, new)."""
        thermal_energy = BOLTZMANN * self.kelvin
        work = energies[1] - energies[0] + self.pressure * (volumes[1] - volumes[0])
        weight = -work / thermal_energy + (int(self.molecules.max()) + 1) * math.log(volumes[1] / volumes[0])
        accepted = weight >= 0.0 or random.random() < math.exp(weight)
        self._tune(accepted)
        return accepted

    def _tune(self, accepted: bool) -> None:
        self.tried += 1
        if self.tried > TUNED:
            return
        self.accepted += accepted
        if self.tried % 10 == 0:
            self.largest *= 1.1 if self.accepted > 7 else 1.0 / 1.1 if self.accepted < 3 else 1.0
            self.accepted = 0
