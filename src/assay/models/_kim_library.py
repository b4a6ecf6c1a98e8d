"""The KIM API and the models that are installed with it, through kimpy; nothing is loaded before a model is needed."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, ModelFailure
from assay.models.install import install_hint

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

INSTALL = "apt-get install libkim-api2 libkim-api-dev openkim-models && pip install 'mlip-assay[kim]'"
_log = threading.local()  # the KIM API writes to its log from the thread that called it


@functools.cache
def import_kimpy() -> Any:
    """kimpy, with the log of the KIM API kept in memory; by default it goes to a file kim.log in the working folder."""
    try:
        import kimpy
    except ImportError as error:
        command = install_hint(INSTALL)
        raise AssayError(f"KIM models need the KIM API and kimpy ({error}); install them: {command}") from error
    verbosity = kimpy.log_verbosity.error
    try:
        library = ctypes.CDLL(kimpy.log.__file__)
        library.KIM_Log_PushDefaultPrintFunction(ctypes.c_int.in_dll(library, "KIM_LANGUAGE_NAME_c"), _keep_line)
    except (OSError, AttributeError, ValueError):  # the log of a KIM API before 2.2 cannot be redirected
        verbosity = kimpy.log_verbosity.silent
    kimpy.log.Log.push_default_verbosity(verbosity)
    return kimpy


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
def _keep_line(entry: bytes) -> int:
    """Keep the message of a log entry; the KIM API calls this with 'time * count * level * id * source * message'."""
    getattr(_log, "lines", []).append(entry.decode(errors="replace").rsplit(" * ", 1)[-1])
    return 0


def library_file(name: str, kind: str = "portableModel") -> Path:
    """The installed shared library of a KIM item."""
    collections = import_kimpy().collections.create()
    try:
        actual = collections.get_item_type(name)
    except RuntimeError:
        manager = "kim-api-collections-management"
        raise AssayError(
            f"KIM model '{name}' is not installed; '{manager} list' shows the installed ones, and "
            f"'{manager} install user {name}' installs it from openkim.org"
        ) from None
    if str(actual) != kind:
        raise AssayError(f"KIM item '{name}' is a {actual}, not a {kind}; choose a model with '__MO_' in its name")
    return Path(collections.get_item_library_file_name_and_collection(actual, name)[0])


def create_model(name: str, length: str = "A", energy: str = "eV") -> Any:
    """The model object of the KIM API, which works in the given units."""
    library_file(name)
    kimpy = import_kimpy()
    units = (getattr(kimpy.length_unit, length), getattr(kimpy.energy_unit, energy), kimpy.charge_unit.e)
    with refusals(name):
        settings = (kimpy.numbering.zeroBased, *units, kimpy.temperature_unit.K, kimpy.time_unit.ps)
        accepted, model = kimpy.model.create(*settings, name)
    if not accepted:
        raise ModelFailure(f"KIM model '{name}' does not accept the units {length} and {energy}")
    return model


def species_codes(model: Any) -> dict[str, int]:
    """The number that the model itself uses for each element that it supports, by chemical symbol."""
    names = import_kimpy().species_name
    species = [names.get_species_name(i) for i in range(names.get_number_of_species_names())]
    answers = {str(one): model.get_species_support_and_code(one) for one in species}
    return {symbol: code for symbol, (supported, code) in answers.items() if supported}


def computable(atoms: Atoms) -> Atoms:
    """The atoms as kimpy needs them: finite, inside the cell, with three cell vectors if any direction is periodic.

    NaN would crash Python. kimpy makes periodic images as if every atom were inside the cell, so an atom outside of it
    would lose neighbours without a message.
    """
    import numpy as np

    if not (np.isfinite(atoms.positions).all() and np.isfinite(atoms.cell.array).all()):
        raise ValueError("a position or a cell vector is NaN or infinite")
    if not atoms.pbc.any():
        return atoms
    wrapped = atoms.copy()
    wrapped.cell = atoms.cell.complete()
    fractions = np.linalg.solve(wrapped.cell.array.T, atoms.positions.T).T
    wrapped.positions = atoms.positions - (np.floor(fractions) * atoms.pbc) @ wrapped.cell.array
    return wrapped


@contextmanager
def refusals(name: str, calculator: Calculator | None = None) -> Iterator[None]:
    """Turn an error of the KIM model into a `ModelFailure` with the model's own reason, and delete partial results."""
    _log.lines = []
    try:
        yield
    except Exception as error:
        if calculator is not None:
            calculator.reset()
        if not isinstance(error, RuntimeError | ValueError):
            raise
        reason = " ".join((_log.lines or [str(error)])[0].split())
        raise ModelFailure(f"KIM model '{name}' refused: {reason}") from error
