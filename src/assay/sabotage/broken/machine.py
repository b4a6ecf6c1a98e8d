"""Models that fail, hang, end their process, or use up memory."""

import os
import signal
import time
from typing import ClassVar

import numpy as np
from ase import Atoms

from assay.sabotage.broken.forces import Scaled
from assay.sabotage.registry import broken
from assay.sabotage.sound import CopperGold, Values


@broken
class NanAfter(Scaled):
    """All results are NaN after 500 calls."""

    calls = 0

    def evaluate(self, atoms: Atoms) -> Values:
        self.calls += 1
        self.factors = (1.0, 1.0, 1.0) if self.calls <= 500 else (np.nan, np.nan, np.nan)
        return super().evaluate(atoms)


@broken
class Raises(CopperGold):
    """Every call raises an exception."""

    def evaluate(self, atoms: Atoms) -> Values:
        raise RuntimeError("This model always raises.")


@broken
class Hangs(CopperGold):
    """No call ever returns."""

    never_answers = True

    def evaluate(self, atoms: Atoms) -> Values:
        while True:
            time.sleep(3600.0)


@broken
class KillsProcess(CopperGold):
    """The first call kills the process, as the operating system does when memory runs out."""

    never_answers = True

    def evaluate(self, atoms: Atoms) -> Values:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluate(atoms)


@broken
class MemoryLeak(CopperGold):
    """Every call takes 100 kB of memory that is freed only with the calculator."""

    leak = 100_000  # bytes per call

    def evaluate(self, atoms: Atoms) -> Values:
        vars(self).setdefault("kept", []).append(b"x" * self.leak)  # written to, so that the memory is really taken
        return super().evaluate(atoms)


@broken
class SlowLeak(MemoryLeak):
    """Every call takes 4 kB of memory that is freed only with the calculator."""

    leak = 4_000


@broken
class KeepsAtoms(CopperGold):
    """A cache keeps every `Atoms` object that was evaluated, and is never emptied."""

    def evaluate(self, atoms: Atoms) -> Values:
        vars(self).setdefault("cache", {})[id(atoms)] = atoms
        return super().evaluate(atoms)


@broken
class KeepsCalculators(CopperGold):
    """The class keeps a list of all calculators that were ever built."""

    everyone: ClassVar[list[CopperGold]] = []

    def __init__(self) -> None:
        super().__init__()
        self.everyone.append(self)
