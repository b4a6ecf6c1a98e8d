"""Bonds at the start of a run: which atoms they join, how long they may get, and how they are named."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.topology import LOST, STRETCHED, Topology
from assay.structure import Structure

HALF = np.radians(104.5 / 2)
WATER = 0.96 * np.array([[0.0, 0.0, 0.0], [np.sin(HALF), np.cos(HALF), 0.0], [-np.sin(HALF), np.cos(HALF), 0.0]])
RADII = np.array([0.66, 0.31, 0.31])


def test_water_has_two_bonds_with_hydrogen() -> None:
    topology = Topology.build(Structure.build([8, 1, 1], WATER), RADII, ["O", "H", "H"])
    assert topology.pairs.tolist() == [[0, 1], [0, 2]]
    assert topology.with_hydrogen.all()
    np.testing.assert_allclose(topology.lengths(WATER[None]), [[0.96, 0.96]])
    assert [topology.bond_name(bond) for bond in (0, 1)] == ["O0-H1", "O0-H2"]


def test_a_hydrogen_has_a_fixed_limit_and_other_bonds_a_multiple_of_their_radii() -> None:
    positions = np.array([[0.0, 0.0, 0.0], [1.4, 0.0, 0.0], [2.3, 0.0, 0.0]])
    topology = Topology.build(Structure.build([6, 8, 1], positions), np.array([0.76, 0.66, 0.31]))
    assert topology.pairs.tolist() == [[0, 1], [1, 2]]
    assert topology.limits.tolist() == pytest.approx([STRETCHED * 1.42, LOST])
    assert topology.bond_name(0) == "atom 0-atom 1"
