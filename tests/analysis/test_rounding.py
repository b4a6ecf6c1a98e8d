"""Roughness is the size of rounding errors, not of what is smooth or of one kink."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.rounding import roughness

X = 1e-3 * np.arange(200)


def test_a_smooth_function_is_not_rough_and_noise_is_as_rough_as_it_is_large() -> None:
    smooth = np.sin(3.0 * X) + np.exp(-X / 0.3)
    noise = 1e-6 * np.random.default_rng(1).normal(size=len(X))
    assert roughness(smooth) < 1e-14
    assert roughness(smooth + noise) == pytest.approx(0.67e-6, rel=0.3)


def test_one_kink_and_one_jump_do_not_count() -> None:
    assert roughness(np.maximum(X, 0.1) + (X > 0.15)) < 1e-14
