"""The asymmetry that counts is what is left at the best step: kinks vanish at small ones, rounding at large ones."""

from __future__ import annotations

import numpy as np
import pytest

from assay.benchmarks.bases.derivative import STEPS
from assay.benchmarks.verification.forces_conservative import least_asymmetry

STEP = np.array(STEPS)


def ladder(asymmetry: float, kink: float = 0.0, rounding: float = 0.0) -> np.ndarray:
    """Forces of three coordinates by (step, sign, coordinate), with a Jacobian that is not symmetric by so much."""
    rng = np.random.default_rng(0)
    symmetric = rng.normal(size=(3, 3))
    symmetric = symmetric + symmetric.T
    twist = np.array([[0.0, 0.5, 0.0], [-0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
    jacobians = symmetric + (asymmetry + kink * STEP[:, None, None]) * twist
    forces = np.stack([STEP[:, None, None] * jacobians, -STEP[:, None, None] * jacobians], axis=1)
    return forces + rounding * rng.uniform(-1.0, 1.0, forces.shape)


@pytest.mark.parametrize("size", [1e-3, 0.1, 10.0])
def test_work_around_a_loop_shows_at_every_step(size: float) -> None:
    assert least_asymmetry(STEP, ladder(size)) == pytest.approx(size, rel=1e-6)
    assert least_asymmetry(STEP, ladder(size, kink=100.0, rounding=1e-6 * size)) > 0.5 * size


def test_kinks_and_rounding_do_not_count() -> None:
    assert least_asymmetry(STEP, ladder(0.0)) < 1e-12
    assert least_asymmetry(STEP, ladder(0.0, kink=100.0)) == pytest.approx(100.0 * STEP.min(), rel=1e-6)
    assert least_asymmetry(STEP, ladder(0.0, rounding=1e-6)) < 1e-4
