"""Broken potentials, each with one realistic bug, and sound ones: the audit of every check and benchmark.

`BROKEN` names each bug and the checks and benchmarks that must catch it; `SOUND` holds models that must pass. A check
catches a model that fails it, any other benchmark one that `is_caught` by its score. Each name is also a factory of
this module: `assay check assay.sabotage:zero_force`. Broken models claim Cu and Au. Units: eV, Å.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from ase import Atoms, units
from ase.calculators.calculator import Calculator, compare_atoms, get_calculator_class
from ase.geometry import find_mic
from numpy.typing import NDArray

from assay.sound import Floats, Indices, Pairs, SoundPotential, Values, scatter
from assay.structure import Structure


@dataclass(frozen=True)
class Sabotage:
    """A broken model: its name, its bug in one sentence, how to build it, and who must catch it.

    `caught_by` holds names without their category: of verification checks, and of benchmarks of physicality and of
    molecules; the latter are tried on data of the sound potential itself (`assay.sound_data`).
    """

    name: str
    what: str
    build: Callable[[], Calculator]
    caught_by: tuple[str, ...]


CAUGHT_UP_TO = 0.5
"""The best score that a benchmark may give to a model that it must catch."""


def is_caught(score: float | None) -> bool:
    """True when the score of a benchmark that is no check, between 0 and 1, exposes a broken model."""
    return score is None or score <= CAUGHT_UP_TO


BROKEN: dict[str, Sabotage] = {}


def _bug(what: str, *caught_by: str) -> Callable[[type[SoundPotential]], type[SoundPotential]]:
    """Enter a class in `BROKEN` under its name in lower_snake, with `what` as its docstring."""

    def register(broken: type[SoundPotential]) -> type[SoundPotential]:
        broken.__doc__ = what
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", broken.__name__).lower()
        BROKEN[name] = Sabotage(name, what, broken, caught_by)
        return broken

    return register


class _CuAu(SoundPotential):
    claims = ("Cu", "Au")


class _Scaled(_CuAu):
    factors = (1.0, 1.0, 1.0)  # of energy, forces and stress

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        return Values(self.factors[0] * energy, self.factors[1] * forces, self.factors[2] * virial)


_KCAL = units.mol / units.kcal  # kcal/mol in one eV
_ENERGIES = "noncovalent_interactions dihedral_scan conformer_selection tautomers reactivity_tst"
_MOLECULES = f"{_ENERGIES} reference_geometry reactivity_neb"
for _name, _factors, _check, _what in (
    ("zero_force", (1, 0, 1), "forces_match_energy", "Forces are zero everywhere while the energy is right."),
    ("constant_energy", (0, 1, 1), "forces_match_energy", "The energy never changes while the forces are right."),
    ("frozen", (0, 0, 0), "forces_match_energy", "The energy never changes and every force is zero."),
    ("scaled_forces", (1, 1.001, 1), "forces_match_energy", "Forces are 0.1 % too large."),
    ("wrong_sign_forces", (1, -1, 1), "forces_match_energy", "Forces are plus the gradient of the energy."),
    ("wrong_stress_sign", (1, 1, -1), "stress_matches_energy", "The stress has the sign of a pressure."),
    ("mixed_units", (_KCAL, 1, 1), "forces_match_energy", "The energy comes in kcal/mol, the forces in eV/Å."),
    ("wrong_units", (_KCAL,) * 3, _MOLECULES, "Energy and forces come in kcal/mol and kcal/mol/Å."),
    ("too_stiff", (3,) * 3, _MOLECULES, "Energy and forces are three times too large: sound code, wrong physics."),
    ("too_soft", (1 / 3,) * 3, _MOLECULES, "Energy and forces are three times too small: sound code, wrong physics."),
):
    # Pickle finds these classes by name through the module's __getattr__.
    _bug(_what, *_check.split())(type(_name, (_Scaled,), {"factors": _factors, "__module__": __name__}))


@_bug("The stress has its yz and xy components swapped.", "stress_matches_energy")
class StressVoigtOrder(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, w = super().evaluate(atoms)
        swapped = [[w[0, 0], w[1, 2], w[0, 2]], [w[1, 2], w[1, 1], w[0, 1]], [w[0, 2], w[0, 1], w[2, 2]]]
        return Values(energy, forces, np.array(swapped))


@_bug("Energy and forces carry noise of 1e-4 eV and 1e-4 eV/Å, new at every call.", "deterministic")
class Noise(_CuAu):
    sizes = (1e-4, 1e-4)

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        noise = np.random.default_rng().standard_normal((len(atoms) + 1, 3))
        return Values(energy + self.sizes[0] * float(noise[-1, 0]), forces + self.sizes[1] * noise[:-1], virial)


@_bug("Energy and forces carry noise of 1e-7 eV and 1e-6 eV/Å, new at every call.", "deterministic")
class TinyNoise(Noise):
    sizes = (1e-7, 1e-6)


@_bug("Energy and forces are random, of 10 eV and 10 eV/Å, new at every call.", "deterministic", *_MOLECULES.split())
class PureNoise(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        noise = 10.0 * np.random.default_rng().standard_normal((len(atoms) + 1, 3))
        return super().evaluate(atoms)._replace(energy=float(noise[-1, 0]), forces=noise[:-1])


@_bug("Forces have a small part that is no gradient of any energy.", "forces_match_energy", "forces_conservative")
class NonConservative(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        (i, j, vector), size = self.pairs(atoms), len(atoms)
        x2 = (vector * vector).sum(axis=1) / 8.0
        near, _ = self.radial(x2)
        crowd = scatter(i, near, size) + scatter(j, near, size)
        push = (2e-3 * near * x2**2 * (crowd[i] + crowd[j]))[:, None] * vector  # no derivative of `crowd`
        return values._replace(forces=values.forces + scatter(i, push, size) - scatter(j, push, size))


@_bug("Distances along x count 0.1 % more than along y and z.", "rotation_invariance")
class NotRotationInvariant(_CuAu):
    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        metric = np.array([1.001, 1.0, 1.0])
        energy, gradient = super().bonds(numbers, pairs._replace(vector=pairs.vector * metric))
        return energy, gradient * metric


@_bug("A uniform field of 0.01 eV/Å pulls every atom down z.", "translation_invariance", "net_force_zero")
class ExternalField(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        field, lever = np.array([0.0, 0.0, 0.01]), atoms.positions.sum(axis=0)
        return Values(energy + float(lever @ field), forces - field, virial + np.outer(field, lever))


@_bug("The energy tells a structure from its mirror image.", "inversion_symmetry")
class NotInversionSymmetric(_CuAu):
    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        energy, gradient = super().bonds(numbers, pairs)
        (i, j, vector), size = pairs, len(numbers)
        x2 = (vector * vector).sum(axis=1) / 8.0
        g, slope = self.radial(x2)
        # Each atom adds the triple product of three sums over its neighbours: sum_j g x^2k r_ij with k = 0, 1, 2.
        arms = [(g * x2**k)[:, None] * vector for k in range(3)]
        sums = [scatter(i, arm, size) - scatter(j, arm, size) for arm in arms]
        for k in range(3):
            lever = 0.01 * np.cross(sums[k - 2], sums[k - 1])  # derivative with respect to sums[k]
            pull = lever[i] - lever[j]
            along = 0.25 * (slope * x2**k + k * g * x2 ** max(k - 1, 0)) * (pull * vector).sum(axis=1)
            gradient = gradient + (g * x2**k)[:, None] * pull + along[:, None] * vector
        return energy + float((lever * sums[2]).sum()), gradient


@_bug("An atom binds 0.1 % more strongly for each place it stands further down the list.", "permutation_symmetry")
class NotPermutationInvariant(_CuAu):
    def depths(self, numbers: Indices) -> Floats:
        return super().depths(numbers) * (1.0 + 0.001 * np.arange(len(numbers)))


def _with_pbc(atoms: Atoms, pbc: Sequence[bool] | NDArray[np.bool_]) -> Atoms:
    copy = atoms.copy()
    copy.pbc = pbc
    return copy


def _only(pairs: Pairs, keep: NDArray[np.bool_]) -> Pairs:
    return Pairs(pairs.first[keep], pairs.second[keep], pairs.vector[keep])


@_bug("Of all periodic images of a pair only the nearest one counts.", "periodicity_support")
class MinimumImageOnly(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(_with_pbc(atoms, [False] * 3))
        turns = np.rint(atoms.cell.complete().scaled_positions(found.vector)) * atoms.pbc
        return found._replace(vector=found.vector - turns @ atoms.cell.array)


@_bug("Periodic systems are treated as clusters.", "periodicity_support")
class IgnoresPbc(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, [False] * 3))


@_bug("The third direction is never periodic.", "periodicity_support")
class IgnoresPbcZ(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, atoms.pbc & [True, True, False]))


@_bug("Every direction that has a cell vector is treated as periodic.", "periodicity_support")
class AlwaysPeriodic(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        return super().pairs(_with_pbc(atoms, atoms.cell.array.any(axis=1)))


@_bug("Atoms outside the cell see no periodic images.", "translation_invariance")
class OutsideCell(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        found, where = super().pairs(atoms), atoms.cell.complete().scaled_positions(atoms.positions)
        inside = (((where >= 0.0) & (where < 1.0)) | ~atoms.pbc).all(axis=1)
        direct = atoms.positions[found.second] - atoms.positions[found.first]
        home = np.abs(found.vector - direct).max(axis=1, initial=0.0) < 1e-6
        return _only(found, home | (inside[found.first] & inside[found.second]))


@_bug("The energy of a pair steps to zero by about 1e-3 eV at its cutoff.", "energy_smooth")
class DiscontinuousAtCutoff(_CuAu):
    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        g, slope = super().radial(x2)
        return g * (x2 < 1.8**2), slope * (x2 < 1.8**2)


@_bug("The force between two atoms steps to zero by about 1e-2 eV/Å at the cutoff.", "energy_smooth")
class ForceJumpAtCutoff(_CuAu):
    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        (g, slope), (shift, _) = super().radial(x2), super().radial(np.array(1.78**2))
        return np.maximum(g - shift, 0.0), slope * (g > shift)


@_bug("Only the six nearest neighbours of an atom count, and the energy jumps when their order swaps.", "energy_smooth")
class NeighbourCap(_CuAu):
    def pairs(self, atoms: Atoms) -> Pairs:
        found = super().pairs(atoms)
        keep, distance = np.zeros(len(found.first), dtype=bool), np.linalg.norm(found.vector, axis=1)
        for atom in range(len(atoms)):
            own = np.concatenate([np.flatnonzero(end == atom) for end in (found.first, found.second)])
            keep[own[np.argsort(distance[own], kind="stable")[:6]]] = True
        return _only(found, keep)


@_bug("Everything is NaN after 500 calls.", "stability", "bond_lengths", "ring_planarity")
class NanAfter(_Scaled):
    calls = 0

    def evaluate(self, atoms: Atoms) -> Values:
        self.calls += 1
        self.factors = (1.0 if self.calls <= 500 else np.nan,) * 3
        return super().evaluate(atoms)


@_bug("Everything is NaN for structures that contain Au, which the model claims.", "species_supported")
class NanForOneSpecies(_Scaled):
    def evaluate(self, atoms: Atoms) -> Values:
        self.factors = (np.nan if "Au" in atoms.symbols else 1.0,) * 3
        return super().evaluate(atoms)


@_bug("The model claims Cu, Au and Ag but raises for Ag.", "species_supported")
class RefusesClaimedSpecies(SoundPotential):
    claims = ("Cu", "Au", "Ag")

    def evaluate(self, atoms: Atoms) -> Values:
        if "Ag" in atoms.symbols:
            raise ValueError("No parameters for 'Ag' were found.")
        return super().evaluate(atoms)


@_bug("Every call raises.", "species_supported")
class Raises(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        raise RuntimeError("This model always raises.")


@_bug("No call ever returns.")
class Hangs(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        while True:
            time.sleep(3600.0)


@_bug("The first call kills the process, as a kernel short of memory would.")
class KillsProcess(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluate(atoms)


@_bug("Every call keeps 100 kB for as long as the calculator lives.", "memory_stable")
class MemoryLeak(_CuAu):
    leak = 100_000  # bytes per call

    def evaluate(self, atoms: Atoms) -> Values:
        vars(self).setdefault("kept", []).append(b"x" * self.leak)  # written to, so that the memory is really taken
        return super().evaluate(atoms)


@_bug("Every call keeps 4 kB for as long as the calculator lives.", "memory_stable")
class SlowLeak(MemoryLeak):
    leak = 4_000


@_bug("All calculators share one array of positions, so threads compute each other's structures.", "thread_safe")
class NotThreadSafe(_CuAu):
    scratch: ClassVar[dict[str, Floats]] = {}

    def evaluate(self, atoms: Atoms) -> Values:
        self.scratch["positions"] = atoms.positions.copy()
        time.sleep(1e-5)  # hands the interpreter to another thread
        mixed = atoms.copy()
        mixed.positions = np.resize(self.scratch["positions"], atoms.positions.shape)
        return super().evaluate(mixed)


class _Remembers(_CuAu):
    seen: Atoms | None = None
    last: Values | None = None

    def remember(self, atoms: Atoms) -> Values:
        self.seen, self.last = atoms.copy(), super().evaluate(atoms)
        return self.last


@_bug("An unsupported species raises only at the first call; later the previous values come back.", "deterministic")
class StaleAfterException(_Remembers):
    def evaluate(self, atoms: Atoms) -> Values:
        try:
            return self.remember(atoms)
        except ValueError:
            if self.last is None:
                raise
            return self.last


@_bug("A result contains 1e-5 of the one before it, like an iteration that starts warm.", "deterministic")
class HistoryDependent(_Remembers):
    def evaluate(self, atoms: Atoms) -> Values:
        old, new = self.last, self.remember(atoms)
        if old is None or len(old.forces) != len(new.forces):
            return new
        forces = new.forces + 1e-5 * (old.forces - new.forces)
        return Values(new.energy + 1e-5 * (old.energy - new.energy), forces, new.virial)


@_bug("Values stay the same until an atom has moved by 1e-3 Å, like a misused neighbour-list skin.", "deterministic")
class StaleSmallMoves(_Remembers):
    def evaluate(self, atoms: Atoms) -> Values:
        if self.last is None or self.seen is None or set(compare_atoms(self.seen, atoms)) - {"positions"}:
            return self.remember(atoms)
        moved = np.linalg.norm(atoms.positions - self.seen.positions, axis=1).max(initial=0.0)
        return self.last if moved < 1e-3 else self.remember(atoms)


@_bug("The energy shifts by up to 1e-5 eV per atom with the hash seed of the process.", "deterministic")
class ProcessDependent(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + 1e-5 * len(atoms) * (hash("Cu") % 2**32) / 2**32)


@_bug("The atoms that were passed in come back centred on the origin.", "deterministic")
class MutatesInput(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        atoms.positions -= atoms.positions.mean(axis=0)
        return super().evaluate(atoms)


@_bug(
    "All atoms repel each other with 2 eV Å / r at any distance; of images only the nearest counts.",
    "locality",
    "extensivity",
    "periodicity_support",
)
class LongRangeTail(_CuAu):
    strength = 2.0  # eV Å

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        (i, j, straight), size = super().pairs(_with_pbc(atoms, [False] * 3)), len(atoms)
        vector, distance = find_mic(straight, atoms.cell, atoms.pbc)
        gradient = -(self.strength / distance**3)[:, None] * vector
        push = scatter(i, gradient, size) - scatter(j, gradient, size)
        tail = float((self.strength / distance).sum())
        return Values(energy + tail, forces + push, virial + gradient.T @ vector)


@_bug("Each atom binds 0.1 meV more strongly for each atom in the system.", "extensivity", "periodicity_support")
class SizeDependent(_CuAu):
    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy - 1e-4 * len(atoms) ** 2)


class _ExtraPair(_CuAu):
    """The sound potential and a smooth pair energy of the squared distance in bond lengths."""

    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def bonds(self, numbers: Indices, pairs: Pairs) -> tuple[float, Floats]:
        energy, gradient = super().bonds(numbers, pairs)
        radius = self._radius[numbers]
        scale = (radius[pairs.first] + radius[pairs.second]) ** -2
        value, slope = self.extra((pairs.vector * pairs.vector).sum(axis=1) * scale)
        return energy + float(value.sum()), gradient + (2.0 * slope * scale)[:, None] * pairs.vector


@_bug("Atoms closer than 0.7 bond lengths fall into each other.", "diatomics", "compression")
class SoftCoreHole(_ExtraPair):
    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        t = np.maximum(1.0 - x2 / 0.49, 0.0)
        return -1000.0 * t**4, 4000.0 / 0.49 * t**3


@_bug("A ripple of up to 2 eV runs along the energy of each pair.", "diatomics", "compression")
class Wiggly(_ExtraPair):
    def extra(self, x2: Floats) -> tuple[Floats, Floats]:
        t = np.maximum(1.0 - x2 / 4.0, 0.0)
        wave, turn = 2.0 * np.sin(8.0 * x2), 16.0 * np.cos(8.0 * x2)
        return wave * t**4, turn * t**4 - wave * t**3


class SinglePrecision(_CuAu):
    """A sound model evaluated in float32."""

    dtype = np.float32


@_bug("Asked to work in nm, the model forgets to convert its cutoff and works in Å.", "unit_conversion")
class WrongUnitConversion(_CuAu):
    unit_sets = ("A", "nm")

    @staticmethod
    def build_in_units(unit_set: str) -> Calculator:
        return _Squeezed() if unit_set == "nm" else _CuAu()


class _Squeezed(_CuAu):
    def radial(self, x2: Floats) -> tuple[Floats, Floats]:
        g, slope = super().radial(1.02 * x2)
        return g, 1.02 * slope


@_bug("In a batch each structure gets the forces of the one before it, if that has as many atoms.", "batch_consistent")
class BatchMixesStructures(_CuAu):
    @staticmethod
    def build_batch() -> "_MixedBatch":
        return _MixedBatch()


class _MixedBatch:
    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        calculator, last = _CuAu(), np.zeros((0, 3))
        results = []
        for structure in structures:
            energy, forces, _ = calculator.evaluate(structure.to_atoms())
            results.append((energy, last if len(last) == len(forces) else forces))
            last = forces
        return results


class SoundBatch(_CuAu):
    """A sound model whose batch gives what it gives alone."""

    @staticmethod
    def build_batch() -> "_Batch":
        return _Batch()


class _Batch:
    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        calculator = _CuAu()
        return [calculator.evaluate(structure.to_atoms())[:2] for structure in structures]


def _emt() -> Calculator:
    return get_calculator_class("emt")()


def _lj() -> Calculator:
    return get_calculator_class("lj")(sigma=2.3, epsilon=0.4, rc=6.0, ro=4.0, smooth=True)


_emt.claims = _lj.claims = _CuAu.claims  # type: ignore[attr-defined]
SOUND: dict[str, Callable[[], Calculator]] = {
    "sound": SoundPotential,
    "single_precision": SinglePrecision,
    "sound_batch": SoundBatch,
    "emt": _emt,
    "lennard_jones": _lj,
}


def __getattr__(name: str) -> Callable[[], Calculator]:
    if name in BROKEN or name in SOUND:
        return BROKEN[name].build if name in BROKEN else SOUND[name]
    raise AttributeError(f"There is no model '{name}' in assay.sabotage: see BROKEN and SOUND.")
