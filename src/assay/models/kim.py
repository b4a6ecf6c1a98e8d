"""Interatomic potentials archived in OpenKIM, run through the KIM API installed on this computer.

Portable models only: they are compiled libraries that any program can call. Simulator models are command lists for one
program (mostly LAMMPS) and are turned away with a sentence. Nothing here loads kimpy or ASE until a model is asked for.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, ModelFailure
from assay.model import PERIODIC_PATTERNS, Model, ModelCard, ModelReference

if TYPE_CHECKING:
    import numpy as np
    from ase import Atoms
    from ase.calculators.calculator import Calculator

SCHEME = "kim"

_PAIRS = (("A", "eV"), ("nm", "kcal_mol"), ("Bohr", "Hartree"), ("m", "J"), ("nm", "eV"), ("A", "kcal_mol"))
# The first is the reference. The last two change one unit only, which is where some models forget part of their energy.
UNIT_SETS: dict[str, tuple[str, str]] = {f"{length}-{energy}": (length, energy) for length, energy in _PAIRS}
# Å and eV in one of each unit, with the constants inside the KIM API (within 1e-6 of CODATA), so that only the model's
# own errors show. The erg is left out: KIM API 2.3.0 takes 1 eV for 1.6e-26 erg instead of 1.6e-12 erg.
_SIZE = {"A": 1.0, "nm": 10.0, "m": 1e10, "Bohr": 0.5291772109217171}
_SIZE |= {"eV": 1.0, "J": 1 / 1.60217646e-19, "Hartree": 27.211384332784412, "kcal_mol": 0.04336413730607426}
_INSTALL = "'apt-get install libkim-api2 libkim-api-dev openkim-models' and 'pip install kimpy'"
_log = threading.local()  # the KIM API writes to its log from the thread that called it


def is_available() -> bool:
    """Whether kimpy is installed; does not load it."""
    return importlib.util.find_spec("kimpy") is not None


def open_model(name: str, device: str | None = None) -> Model:
    """The KIM portable model of this name, with the species that it claims itself."""
    if device not in (None, "cpu"):
        raise AssayError(f"model '{SCHEME}:{name}' runs on cpu only; leave out --device {device}")
    card = ModelCard(
        f"{SCHEME}:{name}",
        elements=supported_elements(name),
        pbc=("FFF", *PERIODIC_PATTERNS),
        charge=False,
        spin=False,
        precision="float64",
        theory="as archived in OpenKIM",
        licence="see the model's page in OpenKIM",
        description=f"KIM portable model {name}",
        packages=("kimpy",),
    )
    return Model(
        card,
        fingerprint(name),
        functools.partial(build_calculator, name),
        ModelReference(card.name),
        unit_sets=tuple(UNIT_SETS),
        build_in_units=functools.partial(build_in_units, name),
    )


def build_calculator(name: str) -> Calculator:
    """ASE's calculator for a KIM portable model, in eV and Å; raises ModelFailure whenever the model refuses.

    ASE's own class raises once and then, asked again about the same atoms, answers with zero energy and zero forces.
    """
    _library(name)
    from ase.calculators.calculator import all_changes
    from ase.calculators.kim.kimmodel import KIMModelCalculator

    class KimCalculator(KIMModelCalculator):
        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            with _refusals(name, self):
                super().calculate(_computable(atoms), properties, system_changes)
            self.atoms = atoms.copy()

    with _refusals(name):
        return KimCalculator(name)


def build_in_units(name: str, unit_set: str) -> Calculator:
    """Calculator whose KIM model itself works in a unit set of UNIT_SETS; results come back in eV and eV/Å.

    Compare with the set 'A-eV' of this function: it never refreshes the model, while ASE's calculator always does.
    """
    if unit_set not in UNIT_SETS:
        raise AssayError(f"Unit set '{unit_set}' is not known; choose one of {', '.join(UNIT_SETS)}.")
    model = _model(name, *UNIT_SETS[unit_set])
    length, energy = (_SIZE[unit] for unit in UNIT_SETS[unit_set])
    from ase.calculators.calculator import Calculator, all_changes

    class KimInUnits(Calculator):
        implemented_properties = ["energy", "forces"]  # noqa: RUF012  (ASE's convention)

        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            with _refusals(name, self):
                super().calculate(atoms, properties, system_changes)
                raw_energy, raw_forces = _compute(model, _computable(atoms), length)
            self.results = {"energy": raw_energy * energy, "forces": raw_forces * (energy / length)}

    return KimInUnits()


def supported_elements(name: str) -> tuple[int, ...]:
    """Atomic numbers of the elements the model says it supports, in increasing order."""
    from ase.data import atomic_numbers

    return tuple(sorted(atomic_numbers[symbol] for symbol in _species_codes(_model(name)) if symbol in atomic_numbers))


def fingerprint(name: str) -> str:
    """SHA-256 over the model's library, the libraries of the drivers it names, and the kim-api and kimpy versions."""
    content = _library(name).read_bytes()
    digest = hashlib.sha256(content)
    for driver in sorted(set(re.findall(rb"\w+__MD_\d{12}_\d{3}", content))):
        with suppress(AssayError):  # a model's history may name older drivers, which are not installed
            digest.update(_library(driver.decode(), "modelDriver").read_bytes())
    versions = (*_kimpy().collections.create().get_project_name_and_sem_ver(), _kimpy().__version__)
    digest.update(" ".join(versions).encode())
    return digest.hexdigest()


def _library(name: str, kind: str = "portableModel") -> Path:
    """The installed shared library of a KIM item."""
    collections = _kimpy().collections.create()
    try:
        found = collections.get_item_type(name)
    except RuntimeError:
        manager = "kim-api-collections-management"
        advice = f"'{manager} list' shows what is, and '{manager} install user {name}' fetches it from openkim.org"
        raise AssayError(f"KIM model '{name}' is not installed; {advice}.") from None
    if str(found) != kind:
        raise AssayError(f"KIM item '{name}' is a {found}, not a {kind}; choose a model with '__MO_' in its name.")
    return Path(collections.get_item_library_file_name_and_collection(found, name)[0])


def _model(name: str, length: str = "A", energy: str = "eV") -> Any:
    """The KIM API's own model object, created in the given units."""
    _library(name)
    kimpy = _kimpy()
    units = (getattr(kimpy.length_unit, length), getattr(kimpy.energy_unit, energy), kimpy.charge_unit.e)
    with _refusals(name):
        settings = (kimpy.numbering.zeroBased, *units, kimpy.temperature_unit.K, kimpy.time_unit.ps)
        accepted, model = kimpy.model.create(*settings, name)
    if not accepted:
        raise ModelFailure(f"KIM model '{name}' does not accept the units {length} and {energy}.")
    return model


def _species_codes(model: Any) -> dict[str, int]:
    """The model's own integer code of every species it supports, by chemical symbol."""
    names = _kimpy().species_name
    species = [names.get_species_name(i) for i in range(names.get_number_of_species_names())]
    answers = {str(one): model.get_species_support_and_code(one) for one in species}
    return {symbol: code for symbol, (supported, code) in answers.items() if supported}


def _computable(atoms: Atoms) -> Atoms:
    """The atoms as kimpy needs them: finite, inside the cell, with three cell vectors if any direction is periodic.

    NaN would crash Python, and kimpy makes periodic images as if every atom lay inside the cell: an atom outside of it
    silently loses neighbours.
    """
    import numpy as np

    if not (np.isfinite(atoms.positions).all() and np.isfinite(atoms.cell.array).all()):
        raise ValueError("a position or a cell vector is not a finite number")
    if not atoms.pbc.any():
        return atoms
    wrapped = atoms.copy()
    wrapped.cell = atoms.cell.complete()
    fractions = np.linalg.solve(wrapped.cell.array.T, atoms.positions.T).T
    wrapped.positions = atoms.positions - (np.floor(fractions) * atoms.pbc) @ wrapped.cell.array
    return wrapped


def _compute(model: Any, atoms: Atoms, length: float) -> tuple[float, np.ndarray]:
    """Energy and forces in the model's units; neighbours are found in Å, because kimpy's finder fails in metres."""
    import numpy as np
    from scipy.spatial import cKDTree

    kimpy, species = _kimpy(), _species_codes(model)
    if unknown := set(atoms.symbols) - set(species):
        raise RuntimeError(f"it supports {', '.join(species)}, not {', '.join(sorted(unknown))}")
    codes = np.array([species[symbol] for symbol in atoms.symbols], dtype=np.intc)
    positions, owner = atoms.positions, np.arange(len(atoms))
    if atoms.pbc.any():
        box = (atoms.cell.array, atoms.pbc.astype(np.intc), positions, codes)
        images = kimpy.neighlist.create_paddings(model.get_influence_distance() * length, *box)
        positions, codes, owner = (np.concatenate(both) for both in zip((positions, codes, owner), images, strict=True))
    tree, cutoffs = cKDTree(positions), model.get_neighbor_list_cutoffs_and_hints()[0] * length
    near = [tree.query_ball_point(positions, cutoff) for cutoff in cutoffs]

    def neighbours(data: object, cutoffs: object, which: int, atom: int) -> tuple[np.ndarray, int]:
        return np.array([other for other in near[which][atom] if other != atom], dtype=np.intc), 0

    number, real = np.array([len(positions)], dtype=np.intc), (np.arange(len(positions)) < len(atoms)).astype(np.intc)
    energy, forces, total = np.zeros(1), np.zeros((len(positions), 3)), np.zeros((len(atoms), 3))
    arguments, names = model.compute_arguments_create(), kimpy.compute_argument_name
    coordinates = positions / length  # kept in a name of its own: the KIM API stores only its address
    arguments.set_argument_pointer(names.numberOfParticles, number)
    arguments.set_argument_pointer(names.particleSpeciesCodes, codes)
    arguments.set_argument_pointer(names.particleContributing, real)
    arguments.set_argument_pointer(names.coordinates, coordinates)
    arguments.set_argument_pointer(names.partialEnergy, energy)
    arguments.set_argument_pointer(names.partialForces, forces)
    arguments.set_callback(kimpy.compute_callback_name.GetNeighborList, neighbours, {})
    model.compute(arguments)
    np.add.at(total, owner, forces)  # a force on a periodic image belongs to the atom it copies
    return float(energy[0]), total


@contextmanager
def _refusals(name: str, calculator: Calculator | None = None) -> Iterator[None]:
    """Turn an error of the KIM model into a ModelFailure with its own reason, and forget the half-finished result."""
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


@functools.cache
def _kimpy() -> Any:
    """kimpy, with the KIM API's log kept in memory: by default it drops a file kim.log wherever it is run."""
    try:
        import kimpy
    except ImportError as error:
        raise AssayError(f"KIM models need the KIM API and kimpy ({error}); install them with {_INSTALL}.") from error
    verbosity = kimpy.log_verbosity.error
    try:
        library = ctypes.CDLL(kimpy.log.__file__)
        library.KIM_Log_PushDefaultPrintFunction(ctypes.c_int.in_dll(library, "KIM_LANGUAGE_NAME_c"), _keep_line)
    except (OSError, AttributeError, ValueError):  # a KIM API before 2.2 cannot redirect its log
        verbosity = kimpy.log_verbosity.silent
    kimpy.log.Log.push_default_verbosity(verbosity)
    return kimpy


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)
def _keep_line(entry: bytes) -> int:
    """Called by the KIM API with 'time * count * level * id * source * message'; keeps the message."""
    getattr(_log, "lines", []).append(entry.decode(errors="replace").rsplit(" * ", 1)[-1])
    return 0
