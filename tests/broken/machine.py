"""Potentials that damage the process they run in, answer nonsense, or take their time: for the tests of the runner.

Each is the sound potential for Cu and Au with one fault, named as on the command line: `machine.py:hangs_on_gold`.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from typing import NoReturn

from ase import Atoms
from ase.calculators.calculator import Calculator

from assay.sabotage.sound import SoundPotential, Values
from assay.structure import Floats, Structure

Fault = Callable[[Atoms], float | None]


class Faulty(SoundPotential):
    """The sound potential, with a fault that strikes at each evaluation; what it returns multiplies the energy."""

    claims = ("Cu", "Au")

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault

    def evaluate(self, atoms: Atoms) -> Values:
        """Energy and forces, if the fault lets us."""
        factor = self.fault(atoms)
        values = super().evaluate(atoms)
        return values if factor is None else values._replace(energy=factor * values.energy)


def _factory(fault: Fault, claims: tuple[str, ...] = Faulty.claims) -> Callable[[], Calculator]:
    def build() -> Calculator:
        return Faulty(fault)

    build.claims = claims  # type: ignore[attr-defined]
    return build


def _only(kind: Callable[[Atoms], bool], fault: Callable[[], None]) -> Callable[[], Calculator]:
    return _factory(lambda atoms: fault() if kind(atoms) else None)


def has_gold(atoms: Atoms) -> bool:
    """True for structures of gold alone and for alloys of it."""
    return "Au" in atoms.symbols


def is_alloy(atoms: Atoms) -> bool:
    """True for structures of more than one species."""
    return len(set(atoms.symbols)) > 1


def is_gold_cluster(atoms: Atoms) -> bool:
    """True for one kind of structure only: more than four gold atoms and nothing else, not periodic."""
    return len(atoms) > 4 and set(atoms.symbols) == {"Au"} and not atoms.pbc.any()


def is_crowd(atoms: Atoms) -> bool:
    """True for the clusters of twelve atoms, which only the check of smoothness uses."""
    return len(atoms) == 12 and not atoms.pbc.any()


def hang() -> NoReturn:
    """Never return."""
    while True:
        time.sleep(3600.0)


def die() -> None:
    """End this process as the kernel does when memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def crash() -> None:
    """Read from address zero: a segmentation fault in compiled code."""
    ctypes.string_at(0)


def compute(seconds: float = 1.5) -> None:
    """Use this much CPU time, however long it takes on a busy machine."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def let_a_child_compute() -> None:
    """Wait for a process that computes, in a process that waits for it."""
    here = Path(__file__)
    code = f"import sys; sys.path.insert(0, {str(here.parent)!r}); import {here.stem}; {here.stem}.compute()"
    child = [sys.executable, "-c", code]
    subprocess.run([sys.executable, "-c", f"import subprocess; subprocess.run({child!r}, check=True)"], check=True)


def compute_for_ever() -> NoReturn:
    """Use CPU time and never return."""
    while True:
        compute()


def answer_slowly() -> None:
    """Wait for an answer from elsewhere, without computing."""
    time.sleep(0.2)


def stop() -> None:
    """Be stopped by a signal, but only if no one was before: the file named by STOPPED_BEFORE tells."""
    marker = Path(os.environ["STOPPED_BEFORE"])
    if not marker.exists():
        marker.write_text("stopped")
        os.kill(os.getpid(), signal.SIGSTOP)


def end_quietly() -> NoReturn:
    """End the process as if all was well."""
    os._exit(0)


def sleep_in_compiled_code() -> None:
    """Never return from compiled code that lets no other thread run; the file named by SLEEPING tells that it began."""
    Path(os.environ["SLEEPING"]).write_text("sleeping")
    ctypes.PyDLL(None).sleep(3600)


def leave() -> NoReturn:
    """Leave as a script would."""
    sys.exit(5)


def run_out_of_memory() -> NoReturn:
    """Fail as an array that is too large does."""
    raise MemoryError("for an array of 9 TB")


def interrupt() -> NoReturn:
    """Raise what Ctrl-C raises."""
    raise KeyboardInterrupt


def fail() -> NoReturn:
    """Fail as a model with a bug does."""
    raise RuntimeError("this model has a bug")


def _always(atoms: Atoms) -> bool:
    return True


raises = _only(_always, fail)
runs_out_of_memory = _only(_always, run_out_of_memory)
leaves = _only(_always, leave)
interrupts = _only(_always, interrupt)
hangs = _only(_always, hang)
dies = _only(_always, die)
answers_nan = _factory(lambda atoms: nan)
answers_nan_for_gold = _factory(lambda atoms: nan if has_gold(atoms) else None)
answers_nan_for_alloys = _factory(lambda atoms: nan if is_alloy(atoms) else None)

refuses_alloys = _only(is_alloy, fail)

hangs_on_gold = _only(has_gold, hang)
dies_on_gold = _only(has_gold, die)
crashes_on_gold = _only(has_gold, crash)
leaves_on_gold = _only(has_gold, leave)
interrupts_on_gold = _only(has_gold, interrupt)
runs_out_of_memory_on_gold = _only(has_gold, run_out_of_memory)
fails_on_gold = _only(has_gold, fail)

computes_on_gold = _only(has_gold, compute)
lets_a_child_compute_on_gold = _only(has_gold, let_a_child_compute)
computes_for_ever_on_gold = _only(has_gold, compute_for_ever)
answers_slowly = _only(_always, answer_slowly)
stops_once_on_gold = _only(has_gold, stop)
ends_quietly_on_gold = _only(has_gold, end_quietly)
sleeps_in_compiled_code = _only(_always, sleep_in_compiled_code)

dies_on_gold_clusters = _only(is_gold_cluster, die)
hangs_on_gold_clusters = _only(is_gold_cluster, hang)
crashes_on_crowds = _only(is_crowd, crash)
hangs_on_crowds = _only(is_crowd, hang)

slow = _factory(lambda atoms: time.sleep(0.003), claims=("Cu",))


class OneByOne:
    """A batch evaluator that asks a calculator for one structure after another."""

    def __init__(self, calculator: SoundPotential) -> None:
        self.calculator = calculator

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        """Energy (eV) and forces (eV/Å) of each structure."""
        values = [self.calculator.evaluate(structure.to_atoms()) for structure in structures]
        return [(found.energy, found.forces) for found in values]


def _with_batches(fault: Fault) -> Callable[[], Calculator]:
    build = _factory(fault)
    build.build_batch = lambda: OneByOne(Faulty(fault))  # type: ignore[attr-defined]
    return build


def die_once(atoms: Atoms) -> None:
    """Die at the 60th evaluation, but only if no one has done so before: the file named by DIED_BEFORE tells."""
    _evaluations.append(1)
    marker = Path(os.environ["DIED_BEFORE"])
    if len(_evaluations) == 60 and not marker.exists():
        marker.write_text("died")
        die()


_evaluations: list[int] = []
dies_once = _factory(die_once)
dies_once_with_batches = _with_batches(die_once)
dies_on_gold_with_batches = _with_batches(lambda atoms: die() if has_gold(atoms) else None)
sound_with_batches = _with_batches(lambda atoms: None)
