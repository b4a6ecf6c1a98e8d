"""Assertions about forces, stress, images and charge pass a sound model and fail a broken one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms

from argon import Argon, ArgonBatch, argon, changed
from assay.errors import ModelFailure
from assay.model import Model
from assay.structure import Structure
from assay.testing import (
    Tolerance,
    assert_charge_is_read,
    assert_charge_is_refused,
    assert_forces_match_energy,
    assert_open_directions_have_no_images,
    assert_stress_matches_energy,
    assert_supercell_adds_up,
    numerical_forces,
)
from assay.testing.answers import answer_of
from assay.testing.physics import with_vacuum
from toys import Toy

CLOSE = Structure.build([18, 18], [[0, 0, 0], [0.2, 0.1, 3.3]])


class Boxed(Argon):
    """Treats every structure with a cell as periodic in all directions."""

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = ()) -> None:
        periodic = atoms.copy()
        periodic.pbc = atoms.cell.rank == 3
        super().calculate(periodic, properties, system_changes)


class Open(Argon):
    """Ignores periodicity."""

    def calculate(self, atoms: Atoms = None, properties: Any = None, system_changes: Any = ()) -> None:
        free = atoms.copy()
        free.pbc = False
        super().calculate(free, properties, system_changes)


class OpenBatch(ArgonBatch):
    """A batch that ignores periodicity."""

    def answer(self, structure: Structure) -> tuple[float, np.ndarray]:
        return super().answer(Structure.build(structure.numbers, structure.positions))


class Ionic(Toy):
    """The energy (eV) is four times the charge, which is read at every call."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {"energy": 4.0 * atoms.info.get("charge", 0), "forces": np.zeros((len(atoms), 3))}

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        return ["info"]


class Forgetful(Ionic):
    """Keeps the energy of the first charge."""

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        return [] if self.results else ["positions"]


class NeutralBatch:
    """A batch that does not read the charge."""

    def evaluate(self, structures: Any) -> Any:
        return [(0.0, np.zeros((len(s), 3))) for s in structures]


class Neutral(Ionic):
    """Refuses charges."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        if atoms.info.get("charge"):
            raise ModelFailure("the model supports neutral systems only")
        return {"energy": -1.0, "forces": np.zeros((len(atoms), 3))}


class NeutralOnce(Neutral, Forgetful):
    """Refuses charges, but answers known atoms with what it remembers."""


class SpinMatters(Neutral):
    """Gives another energy when it is told the spin."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        return {**super().answer(atoms), "energy": float(atoms.info.get("spin", 0))}


def water(calculator: type, batch: Any = None) -> Model:
    return argon(calculator, batch, elements=["H", "O"], pbc=["FFF"])


def test_numerical_forces_are_those_of_the_calculator() -> None:
    expected = answer_of(Argon(), CLOSE)[1]
    assert numerical_forces(argon(), CLOSE, 1e-4) == pytest.approx(expected, abs=1e-6)


def test_forces_of_a_sound_model_pass() -> None:
    assert_forces_match_energy(argon())
    assert_forces_match_energy(argon(), CLOSE, step=1e-3, tolerance=1e-4)


@pytest.mark.parametrize("factor", [-1.0, 1.001, 0.99])
def test_forces_of_another_sign_or_size_fail(factor: float) -> None:
    scaled = changed(lambda c, _: c.results.update(forces=factor * c.results["forces"]))
    with pytest.raises(AssertionError, match=r"forces differ by .* eV/Å from minus the slope"):
        assert_forces_match_energy(argon(scaled))


def test_no_forces_show_nothing() -> None:
    none = changed(lambda c, atoms: c.results.update(forces=np.zeros((len(atoms), 3))))
    with pytest.raises(AssertionError, match="nothing is tested"):
        assert_forces_match_energy(argon(none))


def test_stress_of_a_sound_model_passes() -> None:
    assert_stress_matches_energy(argon())


def test_stress_in_another_order_or_without_it_fails() -> None:
    swapped = changed(lambda c, _: c.results.update(stress=c.results.get("stress", np.zeros(6))[[0, 1, 2, 5, 4, 3]]))
    with pytest.raises(AssertionError, match=r"stress differs by .* eV/Å³"):
        assert_stress_matches_energy(argon(swapped))
    silent = changed(lambda c, _: c.results.pop("stress", None))
    with pytest.raises(AssertionError, match="it gives no stress"):
        assert_stress_matches_energy(argon(silent))


def test_images_of_a_sound_model_end_with_periodicity() -> None:
    assert_open_directions_have_no_images(argon())


@pytest.mark.parametrize(
    ("calculator", "batch", "words"),
    [(Boxed, None, "differ from themselves"), (Open, None, "no image is felt"), (Argon, OpenBatch, "in a batch")],
)
def test_wrong_images_fail(calculator: type, batch: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert_open_directions_have_no_images(argon(calculator, batch))


def test_vacuum_keeps_periodic_vectors_and_replaces_the_others() -> None:
    slab = Structure.build([18], [[0, 0, 0]], [[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [1.0, 1.0, 5.0]], "TTF")
    boxed = with_vacuum(slab, 30.0)
    assert boxed.pattern == "TTT"
    np.testing.assert_array_equal(boxed.cell[:2], slab.cell[:2])
    assert np.abs(boxed.cell[2]) == pytest.approx([0.0, 0.0, 30.0])


def test_supercells_of_a_sound_model_add_up() -> None:
    assert_supercell_adds_up(argon())
    assert_supercell_adds_up(argon(), times=(1, 1, 2), tolerance=Tolerance(1e-9, 1e-9, 1e-9, 1e-9))


def test_energies_that_depend_on_the_size_fail() -> None:
    growing = changed(lambda c, atoms: c.results.update(energy=c.results["energy"] * (1.0 + 1e-4 * len(atoms))))
    with pytest.raises(AssertionError, match="between a cell and its 3×2×2 supercell"):
        assert_supercell_adds_up(argon(growing))
    uneven = changed(lambda c, atoms: c.results["forces"].__setitem__(-1, c.results["forces"][-1] + 0.001 * len(atoms)))
    with pytest.raises(AssertionError, match="forces differ"):
        assert_supercell_adds_up(argon(uneven))


def test_a_charge_that_is_read_passes() -> None:
    assert_charge_is_read(water(Ionic))
    assert_charge_is_read(water(Ionic), least=3.9)


@pytest.mark.parametrize(
    ("calculator", "batch", "words"),
    [(Toy, None, "the charge is not read"), (Forgetful, None, "the charge is not read"),
     (Ionic, NeutralBatch, "differ in a batch")],
)  # fmt: skip
def test_a_charge_that_is_not_read_fails(calculator: type, batch: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert_charge_is_read(water(calculator, batch))


def test_a_charge_that_is_refused_passes() -> None:
    assert_charge_is_refused(water(Neutral), match="neutral")


@pytest.mark.parametrize(
    ("calculator", "words"),
    [(Ionic, "must be refused is answered"), (NeutralOnce, "energy -1 eV of the neutral molecule"),
     (SpinMatters, "changes the energy of a neutral molecule")],
)  # fmt: skip
def test_a_charge_that_is_not_refused_fails(calculator: type, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        assert_charge_is_refused(water(calculator))
