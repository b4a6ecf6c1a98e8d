"""Usual errors of forces are recognised by their ratio to the slope of the energy, species by species."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.force_ratio import known_ratio, ratios_by_species

GRADIENT = np.random.default_rng(3).normal(size=(6, 3))


@pytest.mark.parametrize(
    ("ratio", "cause"),
    [
        (-1.0, "sign"),
        (0.5, "half"),
        (2.0, "twice"),
        (1 / 27.2114, "Hartree/Å"),
        (23.0605, "kcal"),
        (1 / 23.0605, "kcal"),
    ],
)
def test_a_known_ratio_is_named(ratio: float, cause: str) -> None:
    known = known_ratio(ratio * GRADIENT, GRADIENT)
    assert known is not None
    assert known[0] == pytest.approx(ratio, rel=1e-3)
    assert cause in known[1]


@pytest.mark.parametrize("ratio", [1.0, 1.01, 0.9, 3.0])
def test_other_ratios_have_no_name(ratio: float) -> None:
    assert known_ratio(ratio * GRADIENT, GRADIENT) is None


def test_each_species_has_its_own_ratio() -> None:
    numbers = np.array([29, 79, 29, 79, 29, 79])
    forces = np.where(numbers[:, None] == 29, 1.0, -1.0) * GRADIENT
    (phrase,) = ratios_by_species(numbers, ["Cu", "Au"] * 3, forces, GRADIENT)
    assert phrase.startswith("forces on Au are -1 times −dE/dx")
