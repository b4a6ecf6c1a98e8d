"""Bonds and angles of water, and bonds that break and form."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.molecule import angles, bond_angles, bond_lengths, bonds, broken_and_made

RADII = np.array([0.66, 0.31, 0.31])
HALF = np.radians(104.5 / 2)
WATER = np.array(
    [[0.0, 0.0, 0.0], [0.96 * np.sin(HALF), 0.96 * np.cos(HALF), 0.0], [-0.96 * np.sin(HALF), 0.96 * np.cos(HALF), 0.0]]
)


def test_water_has_two_bonds_and_one_angle() -> None:
    pairs = bonds(WATER, RADII)
    assert pairs.tolist() == [[0, 1], [0, 2]]
    assert angles(pairs).tolist() == [[1, 0, 2]]
    np.testing.assert_allclose(bond_lengths(WATER, pairs), 0.96)
    np.testing.assert_allclose(bond_angles(WATER, angles(pairs)), 104.5)


def test_methane_has_six_angles_and_an_atom_none() -> None:
    star = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    assert len(angles(star)) == 6
    assert angles(np.zeros((0, 2), dtype=np.int64)).shape == (0, 3)
    assert bonds(np.zeros((1, 3)), RADII[:1]).shape == (0, 2)


@pytest.mark.parametrize(("factor", "broken"), [(1.0, 0), (1.3, 0), (1.6, 2)])
def test_a_bond_breaks_beyond_one_and_a_half_radii(factor: float, broken: int) -> None:
    broken_bonds, new = broken_and_made(factor * WATER, bonds(WATER, RADII), RADII)
    assert (len(broken_bonds), len(new)) == (broken, 0)


def test_two_hydrogens_that_meet_form_a_bond() -> None:
    closed = WATER.copy()
    closed[1:, 0] = [0.33, -0.33]
    broken_bonds, new = broken_and_made(closed, bonds(WATER, RADII), RADII)
    assert len(broken_bonds) == 0
    assert new.tolist() == [[1, 2]]
