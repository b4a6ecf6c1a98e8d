"""Results that depend on more than the structure: on chance, on earlier calls, on the process, on other threads."""

import time
from typing import ClassVar

import numpy as np
from ase import Atoms
from ase.calculators.calculator import compare_atoms

from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Values
from assay.structure import Floats


def noise_generator() -> np.random.Generator:
    """A new generator for one call, different each time; tests replace this function to get the same noise again."""
    return np.random.default_rng()


@broken
class Noise(CopperGold):
    """Energy and forces have noise of 1e-4 eV and 1e-4 eV/Å, new at every call."""

    sizes = (1e-4, 1e-4)

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        noise = noise_generator().standard_normal((len(atoms) + 1, 3))
        return Values(energy + self.sizes[0] * float(noise[-1, 0]), forces + self.sizes[1] * noise[:-1], virial)


@broken
class TinyNoise(Noise):
    """Energy and forces have noise of 1e-7 eV and 1e-6 eV/Å, new at every call."""

    sizes = (1e-7, 1e-6)


@broken
class PureNoise(CopperGold):
    """Energy and forces are random, of the size of 10 eV and 10 eV/Å, new at every call."""

    def evaluate(self, atoms: Atoms) -> Values:
        noise = 10.0 * noise_generator().standard_normal((len(atoms) + 1, 3))
        return super().evaluate(atoms)._replace(energy=float(noise[-1, 0]), forces=noise[:-1])


class Remembers(CopperGold):
    """The sound potential with a memory of its last structure and values."""

    seen: Atoms | None = None
    last: Values | None = None

    def remember(self, atoms: Atoms) -> Values:
        """Evaluate a structure and keep it with its values."""
        self.seen, self.last = atoms.copy(), super().evaluate(atoms)
        return self.last


@broken
class StaleAfterException(Remembers):
    """An unsupported species raises only at the first call; later calls return the values of the structure before."""

    def evaluate(self, atoms: Atoms) -> Values:
        try:
            return self.remember(atoms)
        except ValueError:
            if self.last is None:
                raise
            return self.last


@broken
class HistoryDependent(Remembers):
    """Each result contains 1e-5 of the result before it, like an iteration that starts from the last solution."""

    def evaluate(self, atoms: Atoms) -> Values:
        old, new = self.last, self.remember(atoms)
        if old is None or len(old.forces) != len(new.forces):
            return new
        forces = new.forces + 1e-5 * (old.forces - new.forces)
        return Values(new.energy + 1e-5 * (old.energy - new.energy), forces, new.virial)


@broken
class StaleSmallMoves(Remembers):
    """Values stay the same until an atom has moved by 1e-3 Å, like with a wrong use of a neighbour-list skin."""

    def evaluate(self, atoms: Atoms) -> Values:
        if self.last is None or self.seen is None or set(compare_atoms(self.seen, atoms)) - {"positions"}:
            return self.remember(atoms)
        moved = np.linalg.norm(atoms.positions - self.seen.positions, axis=1).max(initial=0.0)
        return self.last if moved < 1e-3 else self.remember(atoms)


@broken
class ProcessDependent(CopperGold):
    """The energy shifts by up to 1e-5 eV per atom with the hash seed of the process."""

    def evaluate(self, atoms: Atoms) -> Values:
        values = super().evaluate(atoms)
        return values._replace(energy=values.energy + 1e-5 * len(atoms) * (hash("Cu") % 2**32) / 2**32)


@broken
class NanNowAndThen(CopperGold):
    """Every fiftieth answer of a calculator is NaN."""

    calls = 0

    def evaluate(self, atoms: Atoms) -> Values:
        self.calls += 1
        values = super().evaluate(atoms)
        return values if self.calls % 50 else values._replace(energy=np.nan)


@broken
class RefusesNowAndThen(CopperGold):
    """Every fiftieth call of a calculator raises an exception."""

    calls = 0

    def evaluate(self, atoms: Atoms) -> Values:
        self.calls += 1
        if self.calls % 50 == 0:
            raise RuntimeError("not now")
        return super().evaluate(atoms)


@broken
class MutatesInput(CopperGold):
    """The model moves the atoms that it was given: their centre goes to the origin."""

    def evaluate(self, atoms: Atoms) -> Values:
        atoms.positions -= atoms.positions.mean(axis=0)
        return super().evaluate(atoms)


@broken
class NotThreadSafe(CopperGold):
    """All calculators share one array of positions, so threads evaluate each other's structures."""

    scratch: ClassVar[dict[str, Floats]] = {}

    def evaluate(self, atoms: Atoms) -> Values:
        self.scratch["positions"] = atoms.positions.copy()
        time.sleep(1e-5)  # lets another thread run
        mixed = atoms.copy()
        mixed.positions = np.resize(self.scratch["positions"], atoms.positions.shape)
        return super().evaluate(mixed)
