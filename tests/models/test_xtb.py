"""Tight-binding models read charge and spin, and do not depend on what was computed before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.calculators.calculator import Calculator, all_changes

from assay.models.loading import load_model

tblite = pytest.importorskip("tblite")


@pytest.fixture(params=["gfn1-xtb", "gfn2-xtb"])
def xtb(request: pytest.FixtureRequest) -> Callable[[], Calculator]:
    """Functions that build the tight-binding models."""
    return load_model(request.param).build


def values(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    calculator.calculate(atoms, ["energy", "forces"], all_changes)
    return float(calculator.results["energy"]), np.array(calculator.results["forces"])


def charged(name: str, **info: int) -> Atoms:
    atoms = molecule(name)
    atoms.info.update(info)
    return atoms


def test_water_has_its_gfn2_energy() -> None:
    energy, forces = values(load_model("gfn2-xtb").build(), molecule("H2O"))
    assert energy == pytest.approx(-137.97, abs=0.01)  # −5.0703 hartree
    assert np.abs(forces.sum(axis=0)).max() < 1e-6


def test_the_two_tight_binding_models_differ() -> None:
    first, second = (values(load_model(name).build(), molecule("H2O"))[0] for name in ("gfn1-xtb", "gfn2-xtb"))
    assert abs(first - second) > 1.0


def test_charge_in_info_reaches_the_model(xtb: Callable[[], Calculator]) -> None:
    calculator = xtb()
    neutral, zero, cation, anion = (
        values(calculator, charged("H2O", **info))[0] for info in ({}, {"charge": 0}, {"charge": 1}, {"charge": -1})
    )
    assert neutral == zero
    assert 10.0 < cation - neutral < 25.0  # an ionisation energy, eV
    assert abs(anion - neutral) > 0.1
    assert len({neutral, cation, anion}) == 3


def test_spin_in_info_reaches_the_model(xtb: Callable[[], Calculator]) -> None:
    singlet, triplet, quintet = (values(xtb(), charged("H2O", spin=spin))[0] for spin in (1, 3, 5))
    assert triplet - singlet > 1.0
    assert quintet - triplet > 1.0
    assert values(xtb(), charged("H2O"))[0] == singlet


def test_energies_are_computed_again_if_only_charge_or_spin_changes(xtb: Callable[[], Calculator]) -> None:
    atoms = molecule("H2O")
    atoms.calc = xtb()
    neutral = atoms.get_potential_energy()
    atoms.info["charge"] = 1
    cation = atoms.get_potential_energy()
    del atoms.info["charge"]
    atoms.info["spin"] = 3
    triplet = atoms.get_potential_energy()
    del atoms.info["spin"]
    assert len({neutral, cation, triplet}) == 3
    assert atoms.get_potential_energy() == neutral


def test_the_numbers_do_not_depend_on_what_was_computed_before(xtb: Callable[[], Calculator]) -> None:
    def publicly(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
        return calculator.get_potential_energy(atoms), calculator.get_forces(atoms)

    fresh, used = publicly(xtb(), molecule("C2H4")), xtb()
    moved = molecule("C2H4")
    moved.positions[0, 0] += 0.3
    for before in (moved, charged("C2H4", charge=1), charged("C2H4", spin=3), molecule("H2O"), moved):
        publicly(used, before)
        energy, forces = publicly(used, molecule("C2H4"))
        assert energy == pytest.approx(fresh[0], abs=1e-11)
        np.testing.assert_allclose(forces, fresh[1], atol=1e-10)
