"""Steps of the energy that are narrower than a step of a simulation are told from walls, kinks and wide steps."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.steps import WIDTH, is_narrow, missing_work, steps_within, unexplained_changes
from assay.structure import Floats

AT = np.linspace(3.9, 4.1, 401)


def smooth_step(at: Floats, width: float, height: float = 0.02) -> tuple[Floats, Floats]:
    """A step down at 4 Å: energy (eV) and force (eV/Å)."""
    x = np.clip((at - 4.0) / width + 0.5, 0.0, 1.0)
    return height * (1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2)), height * 30.0 * (x * (1.0 - x)) ** 2 / width


def across(width: float) -> tuple[float, float]:
    """The missing work of a step of this width across `WIDTH` and across twice that."""
    found = []
    for size in (WIDTH, 2.0 * WIDTH):
        energy, force = smooth_step(np.array([4.0 - size / 2, 4.0 + size / 2]), width)
        found.append(missing_work((energy[0], energy[1]), (force[0], force[1]), size))
    return found[0], found[1]


@pytest.mark.parametrize("width", [0.003, 0.01, 0.02])
def test_a_step_within_the_width_is_found_with_its_place_and_is_narrow(width: float) -> None:
    ((centre, found),) = steps_within(AT, *smooth_step(AT, width), least=1e-4)
    assert abs(centre - 4.0) < width
    assert 0.5 * width < found <= WIDTH
    assert is_narrow(across(width))
    assert across(width)[0] == pytest.approx(-0.02)


@pytest.mark.parametrize("width", [0.04, 0.1, 0.3])
def test_a_wider_step_is_not_narrow(width: float) -> None:
    assert not is_narrow(across(width))


def test_nothing_is_unexplained_on_a_steep_wall_or_at_a_kink() -> None:
    wall = 1e3 * np.exp(-(AT - 3.9) / 0.05)
    kink = 50.0 * np.maximum(4.0 - AT, 0.0)
    for energy, force in ((wall, wall / 0.05), (kink, 50.0 * (AT < 4.0))):
        assert unexplained_changes(AT, energy, force, WIDTH)[:, 0].max() < 1e-9 * np.abs(energy).max()


def test_a_refused_place_is_no_narrow_step() -> None:
    assert not is_narrow((float("nan"), 0.02))
    assert not is_narrow((0.02, -0.02))
