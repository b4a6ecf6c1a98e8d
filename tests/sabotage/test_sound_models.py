"""The sound models are sound, in single precision and in batches too."""

from __future__ import annotations

import numpy as np
import pytest

from assay.sabotage import SOUND, CopperGold
from sabotage.structures import cluster, crystal, difference, directions, energy, moved, values


def test_single_precision_is_right_to_seven_digits_and_not_to_ten() -> None:
    single = SOUND["single_precision"]()
    for atoms in (cluster(), crystal()):
        (e, f), (e32, f32) = values(CopperGold(), atoms), values(single, atoms)
        assert 1e-10 < difference((e, f), (e32, f32)) / np.abs(f).max() < 1e-5
        assert single.results["forces"].dtype == np.float32
    exact, rounded = (build().get_stress(crystal()) for build in (CopperGold, SOUND["single_precision"]))
    np.testing.assert_allclose(rounded, exact, atol=1e-5 * np.abs(exact).max())


@pytest.mark.parametrize("name", SOUND)
def test_sound_models_have_forces_that_match_their_energy(name: str) -> None:
    atoms, build = cluster(), SOUND[name]
    step, tolerance = (0.02, 3e-4) if name == "single_precision" else (1e-3, 1e-5)
    forces = values(build(), atoms)[1]
    for d in directions():
        ahead, behind = (energy(build, moved(atoms, atoms.positions + s * d)) for s in (step, -step))
        assert abs((behind - ahead) / (2 * step) - (forces * d).sum()) < tolerance * np.abs(forces).max()
