"""Whose fault is an exception that was raised while a model computed: the model's, or the machine's?

This is the only place where the exception of another package becomes a cause. All other code decides by the cause.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from assay.errors import Cause, MachineFailure, ModelFailure
from assay.stopping import stop_if_asked
from assay.text import named, words_of

NUMBERS = {
    **dict.fromkeys((errno.ENOMEM,), Cause.OUT_OF_MEMORY),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE, errno.EROFS), Cause.NO_DISK),
}
"""Numbers of errors of the system: no memory; a full, limited, broken, vanished or read-only disk."""

CLASSES = {"OutOfMemoryError": Cause.OUT_OF_MEMORY, "ResourceExhaustedError": Cause.OUT_OF_MEMORY}
"""Classes of torch and others for memory of an accelerator, by name, so that these packages need not be imported."""

WORDS = {
    "out of memory": Cause.OUT_OF_MEMORY,
    "not enough memory": Cause.OUT_OF_MEMORY,
    "can't allocate": Cause.OUT_OF_MEMORY,
    "cannot allocate": Cause.OUT_OF_MEMORY,
    "failed to allocate": Cause.OUT_OF_MEMORY,
    "bad_alloc": Cause.OUT_OF_MEMORY,
    "alloc_failed": Cause.OUT_OF_MEMORY,
    "resource_exhausted": Cause.OUT_OF_MEMORY,
    "no space left on device": Cause.NO_DISK,
    "disk quota exceeded": Cause.NO_DISK,
}
"""What allocators and file streams of compiled libraries write into a plain `RuntimeError`, which has no number."""

SAID = {Cause.OUT_OF_MEMORY: "out of memory", Cause.NO_DISK: "the disk is full or cannot be used"}
"""The first words of a reason."""


def machine_cause(error: BaseException) -> Cause | None:
    """The cause if the machine failed, also where another exception was made of it; None for any other error."""
    return next((cause for link in _chain(error) if (cause := _cause_of(link)) is not None), None)


def failure_of(error: BaseException, what: str = "refused") -> ModelFailure | MachineFailure:
    """What to raise for an exception of a model's package; `what` begins the reason of a refusal."""
    stop_if_asked()  # a model may have made an exception of its own out of the request to stop
    if (fault := machine_failure(error)) is not None:
        return fault
    start = f"{what}: " if what else ""
    if isinstance(error, ModelFailure):  # raised by an adapter, with its own reason
        return ModelFailure(f"{start}{words_of(error)}", error.cause)
    return ModelFailure(f"{start}{named(error)}")


def refusal_of(error: BaseException, what: str = "refused") -> ModelFailure:
    """The same, where a refusal is data; a fault of the machine is raised."""
    failure = failure_of(error, what)
    if isinstance(failure, MachineFailure):
        raise failure from error
    return failure


def machine_failure(error: BaseException) -> MachineFailure | None:
    """The failure of the machine that an exception stands for, with a reason for users; None for any other error."""
    cause = machine_cause(error)
    if cause is None:
        return None
    return MachineFailure(words_of(error) if isinstance(error, MachineFailure) else _reason(error, cause), cause)


def _reason(error: BaseException, cause: Cause) -> str:
    return f"{SAID.get(cause, 'the machine failed')}: {words_of(error)}"


def _cause_of(error: BaseException) -> Cause | None:
    if isinstance(error, MachineFailure):
        return error.cause
    if isinstance(error, MemoryError):
        return Cause.OUT_OF_MEMORY
    by_class = next((CLASSES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in CLASSES), None)
    if by_class is not None:
        return by_class
    if isinstance(error, OSError):
        return NUMBERS.get(error.errno) if error.errno is not None else None
    if isinstance(error, RuntimeError) and not isinstance(error, RecursionError | NotImplementedError):
        text = words_of(error).lower()
        return next((cause for words, cause in WORDS.items() if words in text), None)
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and those that it was made of, the last one first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
