"""Interatomic potentials of OpenKIM, through the KIM API that is installed on this computer: `kim:NAME`.

Only portable models are supported: compiled libraries that any program can call. Simulator models are lists of commands
for one program, mostly LAMMPS, and are refused.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError
from assay.model import Model, ModelCard, ModelReference
from assay.models._claims import ANY_PERIODICITY
from assay.models._kim_library import computable, create_model, import_kimpy, library_file, refusals, species_codes
from assay.models._kim_units import UNIT_SETS, build_in_units

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

SCHEME = "kim"


def is_available() -> bool:
    """True if kimpy is installed; it is not imported."""
    return importlib.util.find_spec("kimpy") is not None


def open_model(name: str, device: str | None = None) -> Model:
    """The KIM portable model of this name, with the elements that it says it supports."""
    if device not in (None, "cpu"):
        raise AssayError(f"model '{SCHEME}:{name}' runs on cpu only; leave out --device {device}")
    card = ModelCard(
        f"{SCHEME}:{name}",
        elements=supported_elements(name),
        pbc=ANY_PERIODICITY,
        charge=False,
        spin=False,
        precision="float64",
        theory="as archived in OpenKIM",
        licence="see the page of the model in OpenKIM",
        description=f"KIM portable model {name}",
        packages=("kimpy",),
    )
    return Model(
        card,
        model_fingerprint(name),
        functools.partial(build_calculator, name),
        ModelReference(card.name),
        unit_sets=tuple(UNIT_SETS),
        build_in_units=functools.partial(build_in_units, name),
    )


def build_calculator(name: str) -> Calculator:
    """The ASE calculator of a KIM portable model, in eV and Å; it raises `ModelFailure` whenever the model refuses.

    The class of ASE raises an error only once. Asked again about the same atoms, it gives zero energy and zero forces.
    """
    library_file(name)
    from ase.calculators.calculator import all_changes
    from ase.calculators.kim.kimmodel import KIMModelCalculator

    class KimCalculator(KIMModelCalculator):
        def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
            with refusals(name, self):
                super().calculate(computable(atoms), properties, system_changes)
            self.atoms = atoms.copy()

    with refusals(name):
        return KimCalculator(name)


def supported_elements(name: str) -> tuple[int, ...]:
    """Atomic numbers of the elements that the model says it supports, in increasing order."""
    from ase.data import atomic_numbers

    symbols = species_codes(create_model(name))
    return tuple(sorted(atomic_numbers[symbol] for symbol in symbols if symbol in atomic_numbers))


def model_fingerprint(name: str) -> str:
    """The SHA-256 of the library of the model, the libraries of its drivers, and the versions of kim-api and kimpy."""
    content = library_file(name).read_bytes()
    total = hashlib.sha256(content)
    for driver in sorted(set(re.findall(rb"\w+__MD_\d{12}_\d{3}", content))):
        with suppress(AssayError):  # a model may name older drivers, which are not installed
            total.update(library_file(driver.decode(), "modelDriver").read_bytes())
    kimpy = import_kimpy()
    versions = (*kimpy.collections.create().get_project_name_and_sem_ver(), kimpy.__version__)
    total.update(" ".join(versions).encode())
    return total.hexdigest()
