"""Published numbers of every family, which show that weights and units are right: water, and lattice constants."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.optimize import BFGS

from assay.structure import from_atoms
from assay.testing.answers import batch_answers, batch_of
from families import family_of, opened

ENERGIES = {
    "aimnet2": -2081.041, "ani-1ccx": -2078.499, "ani-1x": -2078.637, "ani-2x": -0.040, "chgnet-0.3.0": -14.807,
    "mace-mp-0-small": -14.048, "mace-off23-small": -2081.116, "mattersim-1m": -14.084, "mattersim-5m": -14.129,
    "nep89": -14.556, "orb-d3-xs-v2": -14.333, "sevennet-0": -14.094, "sevennet-l3i5": -14.143,
    "sevennet-mf-0-pbe": -14.231, "sevennet-mf-0-r2scan": -15.432, "so3lr": -495.871,
}  # fmt: skip
"""Energy (eV) of water in the geometry of ASE's collection."""

GEOMETRIES = {
    "aimnet2": (0.9581, 105.2), "ani-1ccx": (0.9584, 104.6), "ani-1x": (0.9662, 103.4), "ani-2x": (0.9639, 104.1),
    "chgnet-0.3.0": (0.9769, 103.4), "mace-mp-0-small": (0.9743, 105.6), "mace-off23-small": (0.9588, 105.0),
    "mattersim-1m": (0.9769, 103.5), "mattersim-5m": (0.9773, 103.5), "nep89": (0.9577, 105.2),
    "sevennet-0": (0.9713, 103.9), "so3lr": (0.9638, 102.6),
}  # fmt: skip
"""Bond length (Å) and angle (°) of water at its minimum."""

LATTICES = {
    ("chgnet-0.3.0", "Cu"): 3.616, ("chgnet-0.3.0", "Si"): 5.472, ("mace-mp-0-small", "Cu"): 3.613,
    ("mace-mp-0-small", "Si"): 5.461, ("mattersim-1m", "Cu"): 3.616, ("mattersim-1m", "Si"): 5.464,
    ("mattersim-5m", "Cu"): 3.618, ("nep89", "Cu"): 3.556, ("nep89", "Si"): 5.394, ("orb-d3-xs-v2", "Cu"): 3.560,
    ("sevennet-0", "Cu"): 3.612,
}  # fmt: skip
"""Cubic lattice constant (Å)."""


def marked(rows: Iterable[tuple[str, ...]]) -> list[object]:
    """Rows for a test, each for the family of the model that it begins with."""
    return [pytest.param(*row, marks=pytest.mark.family(family_of(row[0]))) for row in rows]


@pytest.mark.parametrize("name", marked((name,) for name in ENERGIES))
def test_water_has_the_published_energy(name: str) -> None:
    water = molecule("H2O")
    assert opened(name).build().get_potential_energy(water) == pytest.approx(ENERGIES[name], abs=1e-3)
    energy, forces = batch_answers(batch_of(opened(name)), [from_atoms(water)])[0]
    assert energy == pytest.approx(ENERGIES[name], abs=1e-3)
    assert np.abs(forces.sum(axis=0)).max() < 1e-4


@pytest.mark.parametrize("name", marked((name,) for name in GEOMETRIES))
def test_water_has_the_published_geometry(name: str) -> None:
    water = molecule("H2O")
    water.calc = opened(name).build()
    assert BFGS(water, logfile=None).run(fmax=3e-3, steps=100)
    bond, angle = GEOMETRIES[name]
    assert water.get_distance(0, 1) == pytest.approx(bond, abs=1e-3)
    assert water.get_angle(1, 0, 2) == pytest.approx(angle, abs=0.2)


@pytest.mark.parametrize(("name", "element"), marked(LATTICES))
def test_crystals_have_the_published_lattice_constant(name: str, element: str) -> None:
    length = LATTICES[name, element]
    lengths = length * np.linspace(0.97, 1.03, 9)
    crystals = [from_atoms(bulk(element, a=float(a))) for a in lengths]
    energies = [energy for energy, _ in batch_answers(batch_of(opened(name)), crystals)]
    extrema = np.roots(np.polyder(np.polyfit(lengths - length, energies, 3)))
    assert np.abs(extrema).min() < 0.006
