"""Whose fault it is (the user's, the model's, or ours, with its traceback), and why something is not `ok`."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Why a point, an outcome or a case is not `ok`. Code decides by the cause, never by the words of a message."""

    NONE = ""
    REFUSED = "refused"
    """The model raised an exception or said that it cannot compute the structure."""

    NOT_FINITE = "not_finite"
    """The model answered with NaN or infinite numbers, or a simulation reached them."""

    MALFORMED = "malformed"
    """The model answered with missing values, arrays of the wrong shape, or something that is not a number."""

    EXPLODED = "exploded"
    """A simulation or minimisation became far too hot, or atoms moved far away."""

    ATOM_LOST = "atom_lost"
    """An atom left the molecule or cluster of a simulation."""

    COLLAPSED = "collapsed"
    """Two atoms of a simulation came to lie on top of each other."""

    NOT_BUILT = "not_built"
    """The factory of the model gave no ASE calculator."""

    WORKER_LOST = "worker_lost"
    """The worker process died or gave no answer before its deadline."""

    OUT_OF_MEMORY = "out_of_memory"
    """The machine had not enough memory for the job."""

    NO_DISK = "no_disk"
    """The disk of the machine was full, over its quota, or could not be used."""

    INTERNAL = "internal"
    """An exception in Assay itself."""

    NOT_RUN = "not_run"
    """Nobody has computed it yet."""

    ELEMENTS = "elements"
    """The structure has elements that the model does not support."""

    CHARGE = "charge"
    """The structure is an ion, and the model does not support charges."""

    NOT_RESOLVED = "not_resolved"
    """The model rounds its results so coarsely that the comparison says nothing."""

    NO_DATA = "no_data"
    """There is no reference data of the kind that the benchmark needs."""


INVALID = (Cause.NOT_FINITE, Cause.MALFORMED)
"""Answers that no program can use. They are worse than a refusal, because a simulation would go on with them."""


class AssayError(Exception):
    """The user asked for something that cannot be done; the message is one sentence that says what to do."""


class ModelNotBuilt(AssayError):
    """The factory of a model failed, or returned something that is not an ASE calculator."""


class ModelFailure(Exception):
    """The model refused a structure or returned something that is not a finite energy and finite forces."""

    def __init__(self, message: str, cause: Cause = Cause.REFUSED) -> None:
        super().__init__(message)
        self.cause = cause


class MachineFailure(Exception):
    """Memory or disk ran out, or a process was killed, while a model computed. It says nothing about the model."""

    def __init__(self, message: str, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause
