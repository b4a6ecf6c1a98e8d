"""Tolerances that follow from the precision and noise of a model, and the comparisons that use them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.benchmark import Case
from assay.errors import Cause
from assay.jobs import Data
from assay.outcome import Point
from assay.structure import Floats

EPSILON = {"float64": 2.2e-16, "float32": 1.2e-7}
ENERGY = {"float64": 1e-8, "float32": 3e-6}
"""Relative difference up to which two energies are equal."""

FORCES = {"float64": 1e-6, "float32": 1e-3}
"""The same for forces, relative to the largest one; wider, because iterative models converge forces less well."""


ULPS = 8.0
"""Sums of energies may be off by this many spacings of floating-point numbers."""


@dataclass(frozen=True)
class Residual:
    """One comparison: where, the error, its unit, the tolerance, the noise floor, and the reason for the tolerance."""

    where: str
    error: float
    unit: str
    tolerance: float
    floor: float
    why: str
    data: Data = field(default_factory=dict)
    """Arrays for plots, which become part of the detail of the case."""

    @property
    def ratio(self) -> float:
        """Error in units of the tolerance."""
        if not math.isfinite(self.error):
            return math.inf
        if self.tolerance > 0.0:
            return self.error / self.tolerance
        return 0.0 if self.error == 0.0 else math.inf


@dataclass(frozen=True)
class Limits:
    """The tolerances of one case: precision of the model and its measured noise floor (eV, eV/Å)."""

    precision: str
    noise_energy: float
    noise_force: float
    lone_energy: float = 0.0
    """Energy per atom of the atoms alone (eV), which is subtracted before energies are judged."""

    @classmethod
    def of(cls, case: Case) -> Limits:
        """The limits that were written into a case when it was made."""
        energy, force = (float(case.context[name]) for name in ("noise_energy", "noise_force"))
        lone = case.context.get("lone_energy", 0.0)
        return cls(str(case.context["precision"]), energy, force, float(lone) if np.ndim(lone) == 0 else 0.0)

    @property
    def epsilon(self) -> float:
        """The spacing of floating-point numbers near 1 in the model's precision."""
        return EPSILON[self.precision]

    def energy_noise(self, energy: float, atoms: int = 0, energies: Floats | None = None) -> float:
        """How far an energy (eV) may be off by rounding and by the measured noise.

        With the number of atoms, only the energy of binding is rounded; whether the total is rounded, too, shows in
        the smallest difference between `energies` of similar structures.
        """
        size = max(abs(abs(energy) - abs(self.lone_energy * atoms)), 1.0)
        gaps = np.diff(np.unique(energies)) if energies is not None else np.zeros(0)
        coarsest = 2.0 * self.epsilon * abs(energy)
        return max(2.0 * self.epsilon * size, min(float(gaps.min(initial=np.inf)), coarsest)) + self.noise_energy

    def force_noise(self, force: float) -> float:
        """How far forces (eV/Å) of this size may be off by rounding and by the measured noise."""
        return 4.0 * self.epsilon * max(force, 1.0) + self.noise_force

    def energy(
        self, where: str, error: float, scale: float, atoms: int, extra: float = 0.0, tight: float = 1.0
    ) -> Residual:
        """Judge a difference of energies (eV) of the size |E| (`scale`).

        It is relative to the energy of binding, |E| without lone atoms, taken as at least 1 eV per atom, because
        energies may cancel. The rounding of the total always passes.
        """
        size = max(abs(abs(scale) - abs(self.lone_energy * atoms)), float(atoms))
        relative, rounding = ENERGY[self.precision] * tight, ULPS * self.epsilon * abs(scale) * min(tight, 1.0)
        tolerance = max(relative * size, rounding, self._allowance(self.noise_energy, 1e-3 * size, tight)) + extra
        floor = max(4.0 * self.epsilon * max(abs(scale), float(atoms)), self.noise_energy)
        return Residual(f"{where}: energy", error, "eV", tolerance, floor, self._why(relative, "energy of binding"))

    def forces(self, where: str, error: float, scale: float, extra: float = 0.0, tight: float = 1.0) -> Residual:
        """Judge a difference of forces (eV/Å) against the largest force, but at least 1 eV/Å."""
        size = max(abs(scale), 1.0)
        relative = FORCES[self.precision] * tight
        tolerance = max(relative * size, self._allowance(self.noise_force, 1e-2 * size, tight)) + extra
        floor = max(16.0 * self.epsilon * size, self.noise_force)
        return Residual(f"{where}: forces", error, "eV/Å", tolerance, floor, self._why(relative, "largest force"))

    def stress(self, where: str, error: float, scale: float, tight: float = 1.0) -> Residual:
        """Judge a difference of stresses (eV/Å³) like forces, against the largest one, but at least 0.01 eV/Å³."""
        size, limit = max(abs(scale), 0.01), self.forces(where, error, 1.0, tight=tight)
        why = "as for forces, of the largest stress"
        return Residual(f"{where}: stress", error, "eV/Å³", limit.tolerance * size, limit.floor * size, why)

    def _allowance(self, noise: float, most: float, tight: float) -> float:
        """Tolerance for noise: ten times its floor up to a limit, and none where the noise itself is judged."""
        return min(10.0 * noise, most) if tight == 1.0 else 0.0

    def _why(self, relative: float, what: str) -> str:
        return f"{relative:.0e} of the {what} in {self.precision}, or ten times the noise floor if that is larger"


TIMES_NOISE = 10.0
MOST = 10.0
"""Noise raises a threshold to ten times the noise floor, but to no more than ten times the threshold itself, so that
a model that is mostly noise passes nothing."""


def raised_threshold(case: Case, threshold: float, kind: str, size: float) -> float:
    """A threshold in thousandths (meV or meV/Å), raised where the noise or rounding of the model is coarser.

    `kind` is "energy" or "force" and `size` (eV or eV/Å) the largest number whose rounding enters.
    """
    noise = 1e3 * TIMES_NOISE * float(case.context[f"noise_{kind}"])
    rounding = 1e3 * ULPS * EPSILON[str(case.context["precision"])] * abs(size)
    return max(threshold, min(noise, MOST * threshold), rounding)


class NotResolved(Exception):
    """The model rounds its results so coarsely that a comparison says nothing."""


class Refused(Exception):
    """The model gave no usable answer for the structure that a comparison starts from; `cause` says why."""

    def __init__(self, reason: str, cause: str = Cause.REFUSED) -> None:
        super().__init__(reason)
        self.cause = cause


class NotApplicable(Exception):
    """The model does not have what a comparison is about, and does not claim it; the message says what."""


def base_point(points: Sequence[Point]) -> Point:
    """The point that a comparison starts from; raises `Refused` if the model did not compute it."""
    if not points[0].ok:
        raise Refused(points[0].reason, points[0].cause)
    return points[0]


def compare(
    limits: Limits,
    where: str,
    base: Point,
    other: Point,
    energy: float,
    forces: Floats,
    extra: tuple[float, float] = (0.0, 0.0),
) -> list[Residual]:
    """Compare a second evaluation with the energy (eV) and forces (eV/Å) that it should have."""
    if not other.ok:
        return [Residual(f"{where}: {other.reason}", math.inf, "eV", 0.0, 0.0, "the model answered before")]
    count = len(other.forces)
    return [
        limits.energy(where, abs(other.energy - energy), max(abs(energy), abs(base.energy)), count, extra[0]),
        limits.forces(where, float(np.abs(other.forces - forces).max()), float(np.abs(forces).max()), extra[1]),
    ]


def judge_deviations(case: Case, test: str, values: Data, tight: tuple[float, float] = (1.0, 1.0)) -> list[Residual]:
    """Compare the deviations that a probe measured with their tolerances, which `tight` scales."""
    usual, labels = Limits.of(case), case.context["labels"]
    lone = np.asarray(case.context.get("lone_energy", 0.0))
    indices = np.asarray(values["indices"], dtype=int)
    arrays = {
        name: np.asarray(values[name], dtype=float) for name in ("natoms", "scale", "max_force", "energy", "forces")
    }
    none = np.full(len(arrays["energy"]), np.nan)  # results of earlier versions have no stress
    largest, stress = (np.asarray(values.get(name, none), dtype=float) for name in ("max_stress", "stress"))
    found = []
    for i in range(len(arrays["energy"])):
        count, where = int(arrays["natoms"][i]), f"{labels[indices[i]]} {test}"
        limits = usual if lone.ndim == 0 else replace(usual, lone_energy=float(lone[indices[i]]))
        found.append(limits.energy(where, arrays["energy"][i], arrays["scale"][i], count, tight=tight[0]))
        found.append(limits.forces(where, arrays["forces"][i], arrays["max_force"][i], tight=tight[1]))
        if not np.isnan(largest[i]):
            found.append(limits.stress(where, stress[i], largest[i], tight[1]))
    return found
