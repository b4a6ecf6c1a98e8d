"""The models that come with Assay give their published physics and keep what their cards promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT

from assay.model import PERIODIC_PATTERNS
from assay.models import file_schemes, registered, schemes
from assay.models.loading import load_model

NAMES = ["emt", "gfn1-xtb", "gfn2-xtb", "lj"]


@pytest.fixture(params=["gfn1-xtb", "gfn2-xtb"])
def xtb(request: pytest.FixtureRequest) -> Callable[[], Calculator]:
    """Builders of the tight-binding models."""
    pytest.importorskip("tblite")
    return load_model(request.param).build


def values(calculator: Calculator, atoms: Atoms) -> tuple[float, np.ndarray]:
    calculator.calculate(atoms, ["energy", "forces"], all_changes)
    return float(calculator.results["energy"]), np.array(calculator.results["forces"])


def charged(name: str, **info: int) -> Atoms:
    atoms = molecule(name)
    atoms.info.update(info)
    return atoms


def test_models_without_a_network_are_there_and_kim_has_a_prefix() -> None:
    assert set(NAMES) <= set(registered())
    assert set(schemes()) - file_schemes() == {"kim"}


@pytest.mark.parametrize("name", sorted(registered()))
def test_a_card_says_what_the_model_is(name: str) -> None:
    card = registered()[name].card
    assert card.name == name
    assert card.elements is not None
    assert list(card.elements) == sorted(set(card.elements))
    assert card.pbc is not None
    assert set(card.pbc) <= {"FFF", *PERIODIC_PATTERNS}
    assert card.precision in {"float64", "float32"}
    for text in (card.theory, card.licence, card.description, registered()[name].install):
        assert text
    assert card.packages


@pytest.mark.parametrize(
    ("name", "elements", "charge"),
    [
        ("emt", (13, 28, 29, 46, 47, 78, 79), False),
        ("lj", (18,), False),
        ("gfn1-xtb", tuple(range(1, 87)), True),
        ("gfn2-xtb", tuple(range(1, 87)), True),
    ],
)
def test_elements_and_charge_are_claimed_as_published(name: str, elements: tuple[int, ...], charge: bool) -> None:
    card = registered()[name].card
    assert card.elements == elements
    assert (card.charge, card.spin) == (charge, charge)


def test_emt_is_that_of_ase() -> None:
    atoms = bulk("Cu", cubic=True)
    atoms.rattle(0.1, seed=1)
    energy, forces = values(load_model("emt").build(), atoms)
    assert energy == EMT().get_potential_energy(atoms)
    assert np.array_equal(forces, EMT().get_forces(atoms))


def test_argon_binds_by_its_well_depth_at_the_minimum_of_the_pair_potential() -> None:
    sigma, epsilon = 3.40, 0.0103
    calculator = load_model("lj").build()
    minimum = Atoms("Ar2", positions=[[0.0, 0.0, 0.0], [0.0, 0.0, 2.0 ** (1 / 6) * sigma]])
    energy, forces = values(calculator, minimum)
    assert energy == pytest.approx(-epsilon, rel=0.01)
    assert np.abs(forces).max() < 1e-3 * epsilon
    energy, forces = values(calculator, Atoms("Ar2", positions=[[0.0, 0.0, 0.0], [0.0, 0.0, 3.0 * sigma]]))
    assert energy == 0.0
    assert not forces.any()


def test_water_has_its_gfn2_energy() -> None:
    pytest.importorskip("tblite")
    energy, forces = values(load_model("gfn2-xtb").build(), molecule("H2O"))
    assert energy == pytest.approx(-137.97, abs=0.01)  # −5.0703 hartree
    assert np.abs(forces.sum(axis=0)).max() < 1e-6


def test_the_two_tight_binding_models_differ() -> None:
    pytest.importorskip("tblite")
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


def test_a_change_of_charge_or_spin_alone_is_noticed_by_the_public_methods(xtb: Callable[[], Calculator]) -> None:
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
