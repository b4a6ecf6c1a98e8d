"""Minimisation steps, equal to those of ASE's optimisers of the same names, without evaluation or output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from assay.errors import AssayError
from assay.naming import did_you_mean
from assay.structure import Floats

STIFFNESS = 70.0
"""The curvature (eV/Å²) with which the Hessian of BFGS starts."""


class Minimiser(Protocol):
    """Computes the next positions of a minimisation."""

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """New positions (Å), from the current positions and forces (eV/Å); one row for each atom."""
        ...


class Bfgs:
    """Quasi-Newton steps with a Hessian that is updated at each step, at most `max_step` (Å) for any atom.

    Negative eigenvalues of the Hessian count with their absolute value, so that every step goes downhill.
    """

    def __init__(self, max_step: float = 0.2) -> None:
        self.max_step = max_step
        self._hessian: Floats | None = None
        self._last = (np.zeros(0), np.zeros(0))

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The step to the minimum of a harmonic surface, shortened to `max_step`."""
        x, f = positions.ravel(), forces.ravel()
        hessian = STIFFNESS * np.eye(x.size) if self._hessian is None else self._updated(x, f)
        self._hessian, self._last = hessian, (x.copy(), f.copy())
        stiffness, modes = np.linalg.eigh(hessian)
        stiffness = np.maximum(np.abs(stiffness), 1e-9)  # no division by zero in a flat direction
        move = (modes @ ((f @ modes) / stiffness)).reshape(positions.shape)
        longest = largest_norm(move)
        return positions + (move * (self.max_step / longest) if longest >= self.max_step else move)

    def _updated(self, x: Floats, f: Floats) -> Floats:
        """The Hessian after the last step, from the change of the forces."""
        hessian = self._hessian if self._hessian is not None else STIFFNESS * np.eye(x.size)
        dx, df = x - self._last[0], self._last[1] - f
        curvature, expected_df = float(dx @ df), hessian @ dx
        expected_curvature = float(dx @ expected_df)
        if np.abs(dx).max(initial=0.0) < 1e-7 or curvature == 0.0 or expected_curvature == 0.0:
            return hessian
        return hessian + np.outer(df, df) / curvature - np.outer(expected_df, expected_df) / expected_curvature


class Fire:
    """Fast inertial relaxation: the atoms move downhill and stop when they would move uphill (Bitzek et al. 2006).

    `max_step` (Å) limits the norm of the step of all atoms together.
    """

    longest_time, patience, faster, slower, mixing, fading = 1.0, 5, 1.1, 0.5, 0.1, 0.99

    def __init__(self, max_step: float = 0.2, time: float = 0.1) -> None:
        self.max_step, self.time = max_step, time
        self._mix, self._downhill = self.mixing, 0
        self._velocity: Floats | None = None

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The next positions of the motion."""
        velocity = self._mixed_velocity(forces)  # may change the time step
        self._velocity = velocity + self.time * forces
        move = self.time * self._velocity
        length = float(np.linalg.norm(move))
        return positions + (move * (self.max_step / length) if length > self.max_step else move)

    def _mixed_velocity(self, forces: Floats) -> Floats:
        """The velocity mixed with the direction of the force if the motion is downhill, else zero."""
        velocity = self._velocity
        if velocity is None:
            return np.zeros_like(forces)
        if float(np.vdot(forces, velocity)) > 0.0:
            along = forces * (np.linalg.norm(velocity) / np.linalg.norm(forces))
            mixed = (1.0 - self._mix) * velocity + self._mix * along
            if self._downhill > self.patience:
                self.time = min(self.time * self.faster, self.longest_time)
                self._mix *= self.fading
            self._downhill += 1
            return mixed
        self._mix, self._downhill = self.mixing, 0
        self.time *= self.slower
        return np.zeros_like(forces)


class FireThenBfgs:
    """FIRE, which is robust, while the forces are large; then BFGS, which needs half as many steps.

    For bands, whose forces are not the gradient of an energy, so that BFGS may diverge. FIRE is used again if the
    largest force grows to four times the limit (eV/Å) for BFGS, or does not decrease by 20 % in a dozen steps; then the
    limit is halved. BFGS moves an atom by at most a quarter of `max_step` (Å). FIRE is always used for very many atoms.
    """

    growth_limit, patience, progress, most_coordinates = 4.0, 12, 0.8, 1200

    def __init__(self, max_step: float = 0.2) -> None:
        self.max_step, self.bfgs_limit = max_step, 1.0
        self._current: Bfgs | Fire = Fire(max_step)
        self._best, self._idle = np.inf, 0

    def step(self, positions: Floats, forces: Floats) -> Floats:
        """The step of the current minimiser."""
        largest = largest_norm(forces)
        if isinstance(self._current, Bfgs):
            self._check_progress(largest)
        elif largest < self.bfgs_limit and positions.size <= self.most_coordinates:
            self._current, self._best, self._idle = Bfgs(0.25 * self.max_step), largest, 0
        return self._current.step(positions, forces)

    def _check_progress(self, largest: float) -> None:
        """Use FIRE again if BFGS makes no progress."""
        better = largest < self.progress * self._best
        self._best, self._idle = (largest, 0) if better else (self._best, self._idle + 1)
        if largest > self.growth_limit * self.bfgs_limit or self._idle > self.patience:
            self._current, self.bfgs_limit = Fire(self.max_step), 0.5 * self.bfgs_limit


MINIMISERS: dict[str, Callable[[float], Minimiser]] = {"bfgs": Bfgs, "fire": Fire, "fire-bfgs": FireThenBfgs}


def make_minimiser(name: str, max_step: float) -> Minimiser:
    """A new minimiser by name."""
    if name not in MINIMISERS:
        raise AssayError(
            f"there is no optimizer '{name}'{did_you_mean(name, MINIMISERS)}; use one of {', '.join(MINIMISERS)}"
        )
    return MINIMISERS[name](max_step)


def largest_norm(rows: Floats) -> float:
    """The largest norm of many vectors."""
    flat = rows.reshape(-1, 3)
    return float(np.sqrt(np.einsum("ix,ix->i", flat, flat).max(initial=0.0)))
