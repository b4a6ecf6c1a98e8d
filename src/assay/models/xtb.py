"""Semi-empirical quantum chemistry: GFN1-xTB and GFN2-xTB through tblite."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from assay.model import ModelCard
from assay.models.registry import Registered

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

ACCURACY = 0.01
"""tblite's numerical accuracy; 100 times tighter than its default, so that forces follow the energy to 1e-6 or so."""

ITERATIONS = 150
"""Steps of the self-consistent field before it is given up; tblite's 250 cost six times as much in stretched pairs that
do not converge, because later steps are slower, and hardly any converges in between."""


def build(method: str) -> Calculator:
    """A tblite calculator that takes charge and spin from `atoms.info` and forgets the previous structure.

    tblite starts the self-consistent field from the last wave function, which makes a result depend on what was
    evaluated before; here each structure starts cold, so the same structure always gives the same numbers.
    """
    from ase.calculators.calculator import all_changes
    from tblite.ase import TBLite

    class ColdStart(TBLite):
        def calculate(self, atoms=None, properties=None, system_changes=all_changes):  # type: ignore[no-untyped-def]
            self._xtb = self._res = None
            self.parameters.charge = atoms.info.get("charge")
            self.parameters.multiplicity = atoms.info.get("spin")
            super().calculate(atoms, properties or ["energy"], all_changes)
            self._state = (atoms.info.get("charge"), atoms.info.get("spin"))

        def check_state(self, atoms, tol=1e-15):  # type: ignore[no-untyped-def]
            changes = super().check_state(atoms, tol)
            same = getattr(self, "_state", None) == (atoms.info.get("charge"), atoms.info.get("spin"))
            return changes if same else [*changes, "info"]

    return ColdStart(method=method, accuracy=ACCURACY, max_iterations=ITERATIONS, verbosity=0)


def _register(name: str, method: str) -> Registered:
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
            "Not claimed for periodic systems: tblite samples the Γ point only and treats every periodic direction as "
            "three, so the energy per cell depends on the supercell chosen.",
            f"The self-consistent field starts cold and is given up after {ITERATIONS} steps.",
        ),
    )
    return Registered(
        card,
        partial(build, method),
        imports=("tblite",),
        install="pip install 'mlip-assay[xtb]'",
        settings={"accuracy": ACCURACY, "iterations": ITERATIONS, "cold_start": True},
    )


MODELS = {"gfn1-xtb": _register("gfn1-xtb", "GFN1-xTB"), "gfn2-xtb": _register("gfn2-xtb", "GFN2-xTB")}
