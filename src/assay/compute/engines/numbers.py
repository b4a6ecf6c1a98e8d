"""What a model returned as energy, forces and stress, checked: real finite numbers of the right shape, or a failure."""

from __future__ import annotations

import numpy as np

from assay.errors import Cause, MachineFailure, ModelFailure
from assay.structure import Floats
from assay.text import named

KINDS = {
    "c": "complex numbers",
    "b": "booleans",
    "U": "text",
    "S": "text",
    "O": "objects that are not numbers",
    "M": "dates",
    "m": "times",
    "V": "records",
}
"""Kinds of arrays that numpy would turn into numbers, with a loss that nobody sees, or by luck."""


def checked_energy(value: object) -> float:
    """The energy (eV) that a model returned; `ModelFailure` unless it is one finite real number."""
    if value is None:
        raise ModelFailure("returned no energy", Cause.MALFORMED)
    if type(value) is not float:
        array = real_numbers(value, "an energy")
        if array.size != 1:
            raise ModelFailure(f"returned an energy of shape {array.shape}, expected one number", Cause.MALFORMED)
        value = float(array.reshape(-1)[0])
    if value - value != 0.0:  # NaN or infinite, without the cost of a library call
        raise ModelFailure(f"returned the energy {value}", Cause.NOT_FINITE)
    return value


def checked_forces(value: object, count: int) -> Floats:
    """A copy of the forces (eV/Å) that a model returned, because it may use the same array in the next call."""
    if value is None:
        raise ModelFailure("returned no forces", Cause.MALFORMED)
    forces = real_numbers(value, "forces")
    if forces.shape != (count, 3):
        raise ModelFailure(f"returned forces of shape {forces.shape} for {count} atoms", Cause.MALFORMED)
    if not np.isfinite(forces).all():
        raise ModelFailure("returned forces that are NaN or infinite", Cause.NOT_FINITE)
    return forces


def checked_stress(value: object) -> Floats | None:
    """The six Voigt components of the stress (eV/Å³) that a model returned; None if it returned none."""
    if value is None:
        return None
    array = real_numbers(value, "a stress")
    if array.shape == (3, 3):
        array = array[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]
    if array.shape != (6,):
        raise ModelFailure(f"returned a stress of shape {array.shape}, expected six Voigt components", Cause.MALFORMED)
    if not np.isfinite(array).all():
        raise ModelFailure("returned a stress that is NaN or infinite", Cause.NOT_FINITE)
    return array


def real_numbers(value: object, what: str) -> Floats:
    """The value as a new array of floats; `ModelFailure` unless all of it are real numbers."""
    if isinstance(value, np.ma.MaskedArray):
        raise ModelFailure(f"returned {what} as a masked array, which may lack numbers", Cause.MALFORMED)
    try:
        array = np.array(value)
        kind = KINDS.get(array.dtype.kind)
        numbers = array if array.dtype == float else array.astype(float) if kind is None else None
    except (MemoryError, MachineFailure):
        raise
    except Exception as error:  # a ragged list, or a tensor that refuses to become an array
        raise ModelFailure(
            f"returned {what} that cannot be read as numbers: {named(error)}", Cause.MALFORMED
        ) from error
    if numbers is None:
        raise ModelFailure(f"returned {what} as {kind}, expected real numbers", Cause.MALFORMED)
    return numbers
