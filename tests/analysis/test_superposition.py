"""Superposition removes translation and rotation; a mirror image still differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.analysis.superposition import superposed, superposed_rmsd
from assay.structure import Floats

SEEDS = st.integers(0, 2**32 - 1)


def rotation(rng: np.random.Generator) -> Floats:
    """A random proper rotation."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


@given(SEEDS, st.integers(1, 30))
def test_rigid_motion_is_removed(seed: int, atoms: int) -> None:
    rng = np.random.default_rng(seed)
    fixed = 3.0 * rng.standard_normal((atoms, 3))
    moving = fixed @ rotation(rng).T + 10.0 * rng.standard_normal(3)
    assert superposed_rmsd(moving, fixed) == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(superposed(moving, fixed), fixed, atol=1e-6)


@given(SEEDS, st.integers(2, 20))
def test_the_distance_is_symmetric_and_superposition_never_increases_it(seed: int, atoms: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.standard_normal((2, atoms, 3))
    one, other = one - one.mean(axis=0), other - other.mean(axis=0)
    unmoved = float(np.sqrt(((one - other) ** 2).sum(axis=1).mean()))
    assert superposed_rmsd(one, other) == pytest.approx(superposed_rmsd(other, one), abs=1e-9)
    assert superposed_rmsd(one, other) <= unmoved + 1e-9


@given(SEEDS)
def test_no_small_rotation_fits_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.standard_normal((2, 6, 3))
    best = superposed(one, other)
    axis = rng.standard_normal(3)
    turned = best + 1e-3 * np.cross(axis, best - best.mean(axis=0))
    assert ((best - other) ** 2).sum() <= ((turned - other) ** 2).sum() + 1e-9


def test_a_mirror_image_is_another_molecule() -> None:
    handed = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    assert superposed_rmsd(handed * [1.0, 1.0, -1.0], handed) > 0.5


def test_each_atom_of_a_stretched_bond_is_displaced_by_half_of_the_stretch() -> None:
    bond = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    longer = np.array([[5.0, 0.0, 0.0], [5.0, 1.2, 0.0]])
    assert superposed_rmsd(longer, bond) == pytest.approx(0.1)
