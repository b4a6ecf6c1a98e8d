"""Families of pretrained models: what each of them allows, for the tests that all have in common."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from assay.model import Model, ModelCard
from assay.models import family_names, named_models
from assay.models.weights import fetch_weights
from assay.structure import Structure
from assay.testing import Tolerance, built_once, structures_for

SINGLE, DOUBLE = Tolerance(1e-5, 1e-5, 1e-4, 1e-4), Tolerance(1e-9, 1e-9, 1e-9, 1e-9)


@dataclass(frozen=True)
class Family:
    """What the models of one adapter file allow.

    Attributes:
        first: The model on which slow tests are made.
        single, double: How far a batch may be from the calculator, by the precision of the model.
        shortest: The shortest distance (Å) of pairs.
        step: Displacement (Å) for the slope of the energy in single precision.
        slope: Largest error (eV/Å) of that slope.
        vacuum: How far a slab may be from itself in a box, and a cell from its supercell.
        cutoff: Atoms this far apart (Å) do not interact; none where energies of separate atoms do not add up.
        others_refused: Whether elements outside the claim are refused.
        files: Whether users can open files of the family, `family:FILE`.
        conservative: Whether forces are derived from the energy, not predicted beside it.
    """

    first: str
    single: Tolerance = SINGLE
    double: Tolerance = DOUBLE
    shortest: float = 0.18
    step: float = 0.01
    slope: float = 0.02
    vacuum: Tolerance | None = None
    cutoff: float | None = 9.0
    others_refused: bool = True
    files: bool = True
    conservative: bool = True


Wanted = Callable[[Family, ModelCard], bool]
"""Whether a test is for a model, by its family and its card."""

FAMILIES = {
    "aimnet2": Family("aimnet2", single=Tolerance(2e-4, 1e-7, 5e-5, 5e-5), step=0.02, slope=0.05, cutoff=None),
    "ani": Family(
        "ani-1ccx",
        single=Tolerance(1e-5, 1e-8, 1e-5, 1e-5),
        slope=0.03,
        vacuum=Tolerance(2e-3, 0.0, 5e-3, 0.0),
        files=False,
    ),
    # Closer than 0.5 Å, the force of CHGNet 0.2.0 changes by 3000 eV/Å within 0.1 Å and magnifies rounding errors.
    "chgnet": Family("chgnet-0.3.0", shortest=0.5, step=0.004, slope=0.06, others_refused=False),
    "fennol": Family(
        "ani-2x", single=Tolerance(1e-5, 2e-6, 1e-5, 1e-5), step=0.004, vacuum=Tolerance(2e-5, 0.0, 1e-4, 0.0)
    ),
    "mace": Family("mace-off23-small", Tolerance(1e-5, 1e-5, 2e-5, 2e-5), double=Tolerance(5e-12, 5e-12, 1e-11, 1e-11)),
    "mattersim": Family("mattersim-1m", step=0.004, others_refused=False),
    "nep": Family("nep89"),
    "orb": Family("orb-d3-xs-v2", single=Tolerance(2e-5, 1e-6, 2e-5, 2e-6), cutoff=None, conservative=False),
    # Closer than 0.5 Å, forces reach 4e7 eV/Å, of which single precision keeps five digits or fewer.
    "sevennet": Family("sevennet-0", Tolerance(2e-5, 2e-5, 2e-5, 2e-5), shortest=0.5),
    "so3lr": Family(
        "so3lr",
        single=Tolerance(0.0, 3e-7, 4e-5, 4e-6),
        step=0.02,
        slope=0.03,
        vacuum=Tolerance(0.0, 3e-7, 5e-5, 0.0),
        cutoff=None,
        files=False,
    ),
}


def family_of(name: str) -> str:
    """The family of a model."""
    return next(family for family, names in family_names().items() if name in names)


@cache
def opened(name: str) -> Model:
    """A model that is built once for all tests, because loading takes seconds."""
    return built_once(name)


def tolerance(name: str) -> Tolerance:
    """How far a batch of the model may be from its calculator."""
    family = FAMILIES[family_of(name)]
    return family.double if opened(name).card.precision == "float64" else family.single


def structures(name: str) -> dict[str, Structure]:
    """The structures on which a model is tested."""
    return structures_for(opened(name), FAMILIES[family_of(name)].shortest)


def few_structures(name: str) -> dict[str, Structure]:
    """An atom, two molecules and, where it is claimed, a crystal."""
    kinds, everything = ("C atom", "water", "distorted ethanol", "cell TTT"), structures(name)
    return {kind: everything[kind] for kind in kinds if kind in everything}


def checkpoint(name: str) -> Path:
    """The file with the weights of a model."""
    entry = named_models()[name]
    if entry.weights is not None:
        return fetch_weights(entry.weights)
    assert entry.inside is not None
    package = importlib.util.find_spec(entry.inside[0])
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0]) / entry.inside[1]


def models(wanted: Wanted = lambda *_: True) -> pytest.MarkDecorator:
    """Run a test with every model of every family that is wanted."""
    return _marked([(f, name) for f, names in family_names().items() if f in FAMILIES for name in names], wanted)


def one_of_each_family(wanted: Wanted = lambda *_: True) -> pytest.MarkDecorator:
    """Run a test with one model of every family that is wanted."""
    return _marked([(name, family.first) for name, family in FAMILIES.items()], wanted)


def _marked(pairs: Iterable[tuple[str, str]], wanted: Wanted) -> pytest.MarkDecorator:
    chosen = [(f, name) for f, name in pairs if wanted(FAMILIES[f], named_models()[name].card)]
    return pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.family(f)) for f, name in chosen])
