"""Energies, forces and stresses are wrong by the stated amount."""

from __future__ import annotations

import numpy as np
import pytest

from assay.sabotage import BROKEN, CopperGold
from sabotage.structures import cluster, crystal, values

KCAL = 23.060548  # kcal/mol in one eV


@pytest.mark.parametrize(
    ("name", "energy_factor", "force_factor"),
    [
        ("zero_force", 1, 0),
        ("constant_energy", 0, 1),
        ("frozen", 0, 0),
        ("scaled_forces", 1, 1.001),
        ("wrong_sign_forces", 1, -1),
        ("too_stiff", 3, 3),
        ("too_soft", 1 / 3, 1 / 3),
        ("wrong_units", KCAL, KCAL),
        ("mixed_units", KCAL, 1),
    ],
)
def test_energy_and_forces_are_wrong_by_the_stated_factor(name: str, energy_factor: float, force_factor: float) -> None:
    e, f = values(CopperGold(), cluster())
    broken_energy, broken_forces = values(BROKEN[name].build(), cluster())
    assert broken_energy == pytest.approx(energy_factor * e, rel=1e-6)
    np.testing.assert_allclose(broken_forces, force_factor * f, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "sign", "order"),
    [("wrong_stress_sign", -1, [0, 1, 2, 3, 4, 5]), ("stress_voigt_order", 1, [0, 1, 2, 5, 4, 3])],
)
def test_the_stress_is_wrong_as_stated(name: str, sign: int, order: list[int]) -> None:
    expected = sign * CopperGold().get_stress(crystal())[order]
    np.testing.assert_allclose(BROKEN[name].build().get_stress(crystal()), expected, rtol=1e-12)


def test_the_force_that_is_not_a_gradient_is_small() -> None:
    sound, broken = (values(build(), cluster())[1] for build in (CopperGold, BROKEN["non_conservative"].build))
    assert 1e-3 < np.abs(broken - sound).max() / np.abs(sound).max() < 0.05
