"""Results that depend on the clock, the process or earlier calls, and memory that grows.

Noise comes from `assay.sabotage`, so that `conftest.py` can seed it.
"""

import ctypes
import os
import threading
import time
from typing import ClassVar

import numpy as np
from ase import Atoms
from copper_gold import CopperGold, caught_by

from assay.sabotage.broken import state as packaged
from assay.sabotage.sound import Floats, Pairs, Values


class _Counts(CopperGold):
    """Counts its calls; `shift` is added to the energy (eV)."""

    calls = 0

    def shift(self) -> float:
        """The error of this call."""
        return 0.0

    def evaluate(self, atoms: Atoms) -> Values:
        self.calls += 1
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + self.shift())


@caught_by("deterministic")
class FirstCall(_Counts):
    """The first answer of a calculator is off by 1e-6 eV."""

    def shift(self) -> float:
        return 1e-6 * (self.calls == 1)


@caught_by("deterministic")
class EverySecondCall(_Counts):
    """Every second answer is off by 1e-6 eV."""

    def shift(self) -> float:
        return 1e-6 * (self.calls % 2)


@caught_by("deterministic")
class Drift(_Counts):
    """The energy drifts by 1e-7 eV a call."""

    def shift(self) -> float:
        return 1e-7 * self.calls


@caught_by("deterministic")
class Clock(_Counts):
    """The energy follows the time of day by 1e-7 eV."""

    def shift(self) -> float:
        return 1e-7 * np.sin(1e3 * time.time())


@caught_by("deterministic")
class ProcessNumber(_Counts):
    """The energy contains 1e-7 eV times the number of the process."""

    def shift(self) -> float:
        return 1e-7 * os.getpid()


@caught_by("deterministic")
class NoisyForces(CopperGold):
    """Only the forces are noisy, by 1e-6 eV/Å."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        noise = packaged.noise_generator().normal(size=values.forces.shape)
        return values._replace(forces=values.forces + 1e-6 * noise)


@caught_by("deterministic")
class NoiseForGoldCrystals(CopperGold):
    """Noise of 1e-6 eV, in crystals of pure gold and nowhere else."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        if atoms.pbc.all() and set(atoms.symbols) == {"Au"}:
            values = values._replace(energy=values.energy + 1e-6 * packaged.noise_generator().normal())
        return values


@caught_by("deterministic")
class BufferNotCleared(CopperGold):
    """A millionth of the last forces is still in the buffer when the next ones are added."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        buffer: Floats = vars(self).setdefault("buffer", np.zeros((1000, 3)))
        old = buffer[: len(atoms)].copy()
        buffer[: len(atoms)] = values.forces
        return values._replace(forces=values.forces + 1e-6 * old)


@caught_by("deterministic")
class NeighboursOfTheFirstStructure(CopperGold):
    """The neighbour list of the first structure of each composition is used for all later ones."""

    def pairs(self, atoms: Atoms) -> Pairs:
        known, edges = vars(self).setdefault("known", {}), atoms.cell.complete().array
        key = (atoms.numbers.tobytes(), atoms.pbc.tobytes())
        if key not in known:
            found = super().pairs(atoms)
            found = found.where(np.linalg.norm(found.vector, axis=1) < 4.2)
            shifts = found.vector - (atoms.positions[found.second] - atoms.positions[found.first])
            known[key] = (found, np.rint(np.linalg.solve(edges.T, shifts.T).T))
        found, images = known[key]
        direct = atoms.positions[found.second] - atoms.positions[found.first]
        return found._replace(vector=direct + images @ edges)


@caught_by("deterministic")
class StretchesTheCell(CopperGold):
    """The cell that was handed in comes back 0.01 % larger."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        atoms.cell.array[:] *= 1.0001
        return values


@caught_by("deterministic")
class SortsTheSpecies(CopperGold):
    """The atomic numbers that were handed in come back sorted."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        atoms.numbers[:] = np.sort(atoms.numbers)
        return values


@caught_by("deterministic")
class WrapsTheAtoms(CopperGold):
    """The positions that were handed in come back wrapped into the cell."""

    def evaluate(self, atoms: Atoms) -> Values:
        atoms.wrap()
        return super().evaluate(atoms)


@caught_by("memory_stable")
class KeepsEveryStructure(CopperGold):
    """A cache without limit keeps every structure that was ever asked for, in all calculators."""

    kept: ClassVar[dict[bytes, Atoms]] = {}

    def evaluate(self, atoms: Atoms) -> Values:
        self.kept[atoms.positions.tobytes()] = atoms.copy()
        return super().evaluate(atoms)


@caught_by("memory_stable")
class LeaksBelowPython(CopperGold):
    """Each call takes 60 kB from the C library and never gives them back."""

    def evaluate(self, atoms: Atoms) -> Values:
        library = ctypes.CDLL(None)
        library.malloc.restype = ctypes.c_void_p
        ctypes.memset(library.malloc(60_000), 1, 60_000)
        return super().evaluate(atoms)


@caught_by("thread_safe")
class MainThreadOnly(CopperGold):
    """Refuses to work outside of the main thread, as code that uses signals does."""

    def evaluate(self, atoms: Atoms) -> Values:
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("signal only works in main thread of the main interpreter")
        return super().evaluate(atoms)


@caught_by("deterministic")
class CachedByThreeDecimals(CopperGold):
    """Results are kept by positions that are rounded to 1e-3 Å, so a close neighbour gets the results of another."""

    def evaluate(self, atoms: Atoms) -> Values:
        known = vars(self).setdefault("known", {})
        where = np.round(atoms.positions, 3).tobytes()
        key = (atoms.numbers.tobytes(), atoms.pbc.tobytes(), atoms.cell.array.tobytes(), where)
        if len(known) > 500:
            known.clear()
        if key not in known:
            known[key] = super().evaluate(atoms)
        return known[key]


@caught_by("deterministic")
class StaleOfTheSameSize(CopperGold):
    """An element without parameters gets the last results, if the number of atoms fits."""

    def evaluate(self, atoms: Atoms) -> Values:
        try:
            self.last = super().evaluate(atoms)
        except ValueError:
            if len(getattr(self, "last", Values(0.0, np.zeros((0, 3)), np.zeros((3, 3)))).forces) != len(atoms):
                raise
        return self.last


@caught_by("memory_stable")
class LeaksInCrystals(CopperGold):
    """Every evaluation of a periodic system keeps 20 kB."""

    def evaluate(self, atoms: Atoms) -> Values:
        if atoms.pbc.any():
            vars(self).setdefault("kept", []).append(b"x" * 20_000)
        return super().evaluate(atoms)


@caught_by("memory_stable")
class LeaksWhenTheSizeChanges(CopperGold):
    """Whenever the number of atoms changes, 50 kB are kept."""

    size = 0

    def evaluate(self, atoms: Atoms) -> Values:
        if len(atoms) != self.size:
            vars(self).setdefault("kept", []).append(b"x" * 50_000)
        self.size = len(atoms)
        return super().evaluate(atoms)


@caught_by("thread_safe")
class OneArrayForAll(CopperGold):
    """All calculators hand out the same array of forces, so the next one changes what the last one returned."""

    arrays: ClassVar[dict[int, Floats]] = {}

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        array = self.arrays.setdefault(len(atoms), np.zeros((len(atoms), 3)))
        array[:] = values.forces
        return values._replace(forces=array)
