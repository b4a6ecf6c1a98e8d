"""Steps downhill, as ASE's optimisers of the same names make them, without anything that evaluates or writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.structure import Floats

STIFFNESS = 70.0
"""The curvature (eV/Å²) that BFGS takes for granted before it has seen any."""


class Minimiser(Protocol):
    """Proposes where to go next."""

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """New positions (Å), from positions and the forces (eV/Å) there; both have a row for each atom."""
        ...


class Bfgs:
    """Quasi-Newton steps from a Hessian that is learnt on the way, at most `max_step` (Å) for any atom.

    Downhill also where the Hessian has negative eigenvalues, which count by their size.
    """

    def __init__(self, max_step: float = 0.2) -> None:
        self.max_step = max_step
        self._hessian: Floats | None = None
        self._last = (np.zeros(0), np.zeros(0))

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The step that would end in the minimum of a harmonic surface, shortened if it is long."""
        here, pull = positions.ravel(), forces.ravel()
        hessian = STIFFNESS * np.eye(here.size) if self._hessian is None else self._learnt(here, pull)
        self._hessian, self._last = hessian, (here.copy(), pull.copy())
        stiffness, modes = np.linalg.eigh(hessian)
        stiffness = np.maximum(np.abs(stiffness), 1e-9)  # a flat direction is no reason to divide by zero
        move = (modes @ ((pull @ modes) / stiffness)).reshape(positions.shape)
        longest = largest_norm(move)
        return positions + (move * (self.max_step / longest) if longest >= self.max_step else move)

    def _learnt(self, here: Floats, pull: Floats) -> Floats:
        """The Hessian after the last step, from how the force changed along it."""
        hessian = self._hessian if self._hessian is not None else STIFFNESS * np.eye(here.size)
        moved, change = here - self._last[0], self._last[1] - pull
        along, expected = float(moved @ change), hessian @ moved
        known = float(moved @ expected)
        if np.abs(moved).max(initial=0.0) < 1e-7 or along == 0.0 or known == 0.0:
            return hessian
        return hessian + np.outer(change, change) / along - np.outer(expected, expected) / known


class Fire:
    """Fast inertial relaxation: downhill motion that is stopped whenever it goes uphill (Bitzek et al. 2006).

    `max_step` (Å) limits the length of a step of all atoms together.
    """

    longest_time, patience, faster, slower, mixing, fading = 1.0, 5, 1.1, 0.5, 0.1, 0.99

    def __init__(self, max_step: float = 0.2, time: float = 0.1) -> None:
        self.max_step, self.time = max_step, time
        self._mix, self._downhill = self.mixing, 0
        self._velocity: Floats | None = None

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The next positions of the motion."""
        velocity = self._steered(forces)  # may change the time of a step
        self._velocity = velocity + self.time * forces
        move = self.time * self._velocity
        length = float(np.linalg.norm(move))
        return positions + (move * (self.max_step / length) if length > self.max_step else move)

    def _steered(self, forces: Floats) -> Floats:
        """The velocity turned towards the force while it goes downhill, else none."""
        velocity = self._velocity
        if velocity is None:
            return np.zeros_like(forces)
        if float(np.vdot(forces, velocity)) > 0.0:
            along = forces * (np.linalg.norm(velocity) / np.linalg.norm(forces))
            turned = (1.0 - self._mix) * velocity + self._mix * along
            if self._downhill > self.patience:
                self.time = min(self.time * self.faster, self.longest_time)
                self._mix *= self.fading
            self._downhill += 1
            return turned
        self._mix, self._downhill = self.mixing, 0
        self.time *= self.slower
        return np.zeros_like(forces)


class FireThenBfgs:
    """FIRE while the forces are large, which nothing upsets; then BFGS, which needs half as many steps.

    For bands, whose forces are no gradient, so that BFGS may lose its way. FIRE takes over again when forces grow to
    four times the limit below which BFGS began, or do not fall for a dozen steps, and keeps on down to half that limit.
    A quarter of `max_step` (Å) is the most that BFGS moves an atom. Very many atoms stay with FIRE.
    """

    lost, patience, progress, most_coordinates = 4.0, 12, 0.8, 1200

    def __init__(self, max_step: float = 0.2) -> None:
        self.max_step, self.near = max_step, 1.0
        self._current: Bfgs | Fire = Fire(max_step)
        self._best, self._idle = np.inf, 0

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The step of whichever is in charge."""
        largest = largest_norm(forces)
        if isinstance(self._current, Bfgs):
            self._watch(largest)
        elif largest < self.near and positions.size <= self.most_coordinates:
            self._current, self._best, self._idle = Bfgs(0.25 * self.max_step), largest, 0
        return self._current.step(positions, forces)

    def _watch(self, largest: float) -> None:
        """Go back to FIRE if BFGS gets nowhere."""
        better = largest < self.progress * self._best
        self._best, self._idle = (largest, 0) if better else (self._best, self._idle + 1)
        if largest > self.lost * self.near or self._idle > self.patience:
            self._current, self.near = Fire(self.max_step), 0.5 * self.near


MINIMISERS: dict[str, Callable[[float], Minimiser]] = {"bfgs": Bfgs, "fire": Fire, "fire-bfgs": FireThenBfgs}


def make_minimiser(name: str, max_step: float) -> Minimiser:
    """A fresh minimiser by name."""
    if name not in MINIMISERS:
        raise AssayError(
            f"there is no optimizer '{name}'{did_you_mean(name, MINIMISERS)}; take one of {', '.join(MINIMISERS)}"
        )
    return MINIMISERS[name](max_step)


def largest_norm(rows: Floats) -> float:
    """The length of the longest of many vectors."""
    flat = rows.reshape(-1, 3)
    return float(np.sqrt(np.einsum("ix,ix->i", flat, flat).max(initial=0.0)))
