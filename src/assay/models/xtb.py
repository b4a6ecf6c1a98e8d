"""Semi-empirical quantum chemistry: GFN1-xTB and GFN2-xTB through tblite."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from assay.model import ModelCard
from assay.models._calculators import with_info_changes
from assay.models.registry import NamedModel

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

ACCURACY = 0.01
"""Numerical accuracy of tblite; 100 times better than its default, so that forces match the energy to about 1e-6."""

ITERATIONS = 150
"""The largest number of steps of the self-consistent field. With the default of tblite, 250, stretched pairs that do
not converge take six times as long, because later steps are slower, and almost none converges after step 150."""


def build(method: str) -> Calculator:
    """A tblite calculator that reads charge and spin from `atoms.info` and does not use the previous wave function.

    tblite starts the self-consistent field from the last wave function, so that a result depends on what was evaluated
    before. Here each structure starts without one, so that the same structure always gives the same numbers.
    """
    from ase.calculators.calculator import all_changes
    from tblite.ase import TBLite

    class ColdStart(TBLite):
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            self._xtb = self._res = None
            self.parameters.charge = atoms.info.get("charge")
            self.parameters.multiplicity = atoms.info.get("spin")
            super().calculate(atoms, properties or ["energy"], all_changes)

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            return with_info_changes(super().check_state(atoms, tol), self.atoms, atoms, "charge", "spin")

    return ColdStart(method=method, accuracy=ACCURACY, max_iterations=ITERATIONS, verbosity=0)


def _named(name: str, method: str) -> NamedModel:
    card = ModelCard(
        name,
        elements=tuple(range(1, 87)),
        pbc=("FFF",),
        charge=True,
        spin=True,
        precision="float64",
        theory=f"{method}, semi-empirical tight binding, electronic temperature 300 K",
        licence="LGPL-3.0-or-later (tblite)",
        description=f"{method} for H to Rn; molecules and clusters",
        packages=("tblite",),
        notes=(
            "Periodic systems are not claimed: tblite uses only the Γ point, so that the energy per cell depends on "
            "the size of the supercell, and it treats one or two periodic directions as three.",
            f"The self-consistent field starts without a previous wave function and stops after {ITERATIONS} steps.",
        ),
    )
    return NamedModel(
        card,
        partial(build, method),
        imports=("tblite",),
        install="pip install 'mlip-assay[xtb]'",
        settings={"accuracy": ACCURACY, "iterations": ITERATIONS, "cold_start": True},
    )


MODELS = {"gfn1-xtb": _named("gfn1-xtb", "GFN1-xTB"), "gfn2-xtb": _named("gfn2-xtb", "GFN2-xTB")}
