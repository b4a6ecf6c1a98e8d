"""Potentials that come with ASE: effective-medium theory and Lennard-Jones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.model import ModelCard
from assay.models._claims import ANY_PERIODICITY
from assay.models.registry import NamedModel

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

ARGON = {"epsilon": 0.0103, "sigma": 3.40}
"""Well depth (eV) and distance of zero energy (Å) of an argon pair."""


def build_emt() -> Calculator:
    """Effective-medium theory of the late transition metals and aluminium."""
    from ase.calculators.emt import EMT

    return EMT()


def build_lj() -> Calculator:
    """Lennard-Jones argon; the energy goes smoothly to zero between 2.5 and 3 σ."""
    from ase.calculators.lj import LennardJones

    sigma = ARGON["sigma"]
    return LennardJones(**ARGON, rc=3.0 * sigma, ro=2.5 * sigma, smooth=True)


MODELS = {
    "emt": NamedModel(
        ModelCard(
            "emt",
            elements=(13, 28, 29, 46, 47, 78, 79),
            pbc=ANY_PERIODICITY,
            charge=False,
            spin=False,
            precision="float64",
            theory="effective-medium theory",
            licence="LGPL-2.1-or-later (ASE)",
            description="Metals Al, Ni, Cu, Pd, Ag, Pt, Au; fast, for first tests",
            packages=("ase",),
        ),
        build_emt,
        imports=("ase",),
        install="pip install ase",
    ),
    "lj": NamedModel(
        ModelCard(
            "lj",
            elements=(18,),
            pbc=ANY_PERIODICITY,
            charge=False,
            spin=False,
            precision="float64",
            theory="Lennard-Jones pair potential with a smooth cutoff at 10.2 Å",
            licence="LGPL-2.1-or-later (ASE)",
            description="Argon; the simplest sound model",
            packages=("ase",),
        ),
        build_lj,
        imports=("ase",),
        install="pip install ase",
        settings={**ARGON, "rc": 3.0, "ro": 2.5},
    ),
}
