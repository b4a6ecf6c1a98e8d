"""The machine's faults are told from the model's by class and number, not by luck."""

from __future__ import annotations

import ast
import errno
import os
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms

from assay.compute import probes
from assay.compute.engines.blame import failure_of, machine_cause
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.jobs import SinglePoints
from assay.models.loading import from_object
from assay.outcome import ERROR, FAILED
from toys import CLUSTERS, Toy, engine_of


class OutOfMemoryError(RuntimeError):
    """Named and derived as torch's own."""


class CudaError(OutOfMemoryError):
    """A class that a package derives from it."""


def numbered(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def made_of(outer: Exception, inner: Exception) -> Exception:
    """An exception that was raised from another."""
    try:
        try:
            raise inner
        except Exception as error:
            raise outer from error
    except Exception as error:
        return error


def raised_while_handling(outer: Exception, inner: Exception) -> Exception:
    """An exception that was raised while another was handled."""
    try:
        try:
            raise inner
        except Exception:
            raise outer  # noqa: B904
    except Exception as error:
        return error


ALLOCATOR = "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: you tried 9e12"
MACHINE = [
    (MemoryError("9 TB"), Cause.OUT_OF_MEMORY),
    (OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"), Cause.OUT_OF_MEMORY),
    (CudaError(""), Cause.OUT_OF_MEMORY),
    (numbered(errno.ENOMEM), Cause.OUT_OF_MEMORY),
    (numbered(errno.ENOSPC), Cause.NO_DISK),
    (numbered(errno.EDQUOT), Cause.NO_DISK),
    (numbered(errno.EFBIG), Cause.NO_DISK),
    (numbered(errno.EIO), Cause.NO_DISK),
    (RuntimeError(ALLOCATOR), Cause.OUT_OF_MEMORY),
    (RuntimeError("not enough memory: you tried to allocate 1000 bytes."), Cause.OUT_OF_MEMORY),
    (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes."), Cause.OUT_OF_MEMORY),
    (RuntimeError("std::bad_alloc"), Cause.OUT_OF_MEMORY),
    (RuntimeError("write failed: No space left on device"), Cause.NO_DISK),
    (made_of(ValueError("the model failed"), MemoryError()), Cause.OUT_OF_MEMORY),
    (made_of(ModelFailure("the adapter gave up"), numbered(errno.ENOSPC)), Cause.NO_DISK),
    (raised_while_handling(KeyError("energy"), OutOfMemoryError()), Cause.OUT_OF_MEMORY),
]
NOT_MACHINE = [
    ValueError("no parameters for Xx"),
    ValueError("the word memory, as in out of memory, in an exception that no allocator raises"),
    numbered(errno.ENOENT),
    PermissionError(errno.EACCES, "denied"),
    OSError("no number"),
    RuntimeError("the network has no memory cells"),
    RecursionError("maximum recursion depth exceeded"),
    SystemExit(1),
]


def names(item: object) -> str:
    return type(item).__name__


@pytest.mark.parametrize(("error", "cause"), MACHINE, ids=names)
def test_faults_of_the_machine_are_errors_and_never_held_against_the_model(error: Exception, cause: Cause) -> None:
    assert machine_cause(error) == cause
    failure = failure_of(error)
    assert isinstance(failure, MachineFailure)
    assert failure.cause == cause

    class Fails(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise error

    outcome = engine_of(Fails).run("key", SinglePoints(CLUSTERS))
    assert (outcome.status, outcome.cause) == (ERROR, cause)
    assert outcome.reason


@pytest.mark.parametrize("error", NOT_MACHINE, ids=names)
def test_everything_else_is_a_refusal(error: BaseException) -> None:
    assert machine_cause(error) is None
    failure = failure_of(error)
    assert isinstance(failure, ModelFailure)
    assert failure.cause == Cause.REFUSED


def test_an_exception_that_cannot_be_printed_is_a_refusal_too() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    assert str(failure_of(Mute())) == "refused: Mute"


def test_a_chain_of_exceptions_that_bites_its_tail_ends() -> None:
    first, second = ValueError("one"), ValueError("two")
    first.__cause__, second.__cause__ = second, first
    assert machine_cause(first) is None


def test_a_factory_that_runs_out_of_memory_is_an_error_and_not_a_wrong_model() -> None:
    from assay.compute.probes.contact import require_calculator

    def build() -> Toy:
        np.zeros((10**7, 10**7))
        raise AssertionError

    with pytest.raises(MachineFailure, match="out of memory: Unable to allocate") as failure:
        require_calculator(from_object(build))
    assert failure.value.cause == Cause.OUT_OF_MEMORY


def test_a_full_disk_below_a_batch_is_an_error() -> None:
    class Fails(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise numbered(errno.ENOSPC)

    class Batch:
        def evaluate(self, structures: object) -> object:
            raise numbered(errno.ENOSPC)

    def build() -> Toy:
        return Fails()

    build.build_batch = Batch  # type: ignore[attr-defined]
    from assay.compute.engines.batched import BatchedEngine

    (outcome,) = BatchedEngine(CalculatorEngine(from_object(build))).run([("key", SinglePoints(CLUSTERS))])
    assert (outcome.status, outcome.cause) == (ERROR, Cause.NO_DISK)


def test_a_refusal_stays_failed() -> None:
    class Fails(Toy):
        def answer(self, atoms: Atoms) -> dict[str, object]:
            raise ValueError("no parameters")

    outcome = CalculatorEngine(from_object(Fails)).run("key", SinglePoints(CLUSTERS))
    assert (outcome.status, outcome.cause) == (FAILED, Cause.REFUSED)


PROBES = Path(probes.__file__).parent
DECIDES = {"failure_of", "refusal_of", "machine_failure"}
LEFT_TO_OTHERS = {"_seconds_in_batch", "_together", "_sum"}
"""Functions in which an exception of the model only means that there is no number; another job reports it."""


@pytest.mark.parametrize("path", sorted(PROBES.glob("*.py")), ids=lambda path: path.stem)
def test_every_probe_tells_the_machine_from_the_model(path: Path) -> None:
    """So that no new probe holds a full disk against the model."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef) or function.name in LEFT_TO_OTHERS:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.ExceptHandler) and "Exception" in ast.unparse(node.type or ast.Name("Exception")):
                names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                assert names & DECIDES, f"{function.name} in line {node.lineno}"
