"""Claims about species, units and batches are wrong where stated, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from assay.sabotage import BROKEN, SOUND, CopperGold
from assay.sabotage.broken.claims import WrongUnitConversion
from assay.structure import from_atoms
from sabotage.measurements import LEVEL, forces_against_energy, refused_claims
from sabotage.structures import COPPER_BOND, Build, cluster, crystal, difference, dimer, energy, values


def test_structures_with_gold_are_nan() -> None:
    build = BROKEN["nan_for_one_species"].build
    e, f = values(build(), cluster(symbols="Cu7Au"))
    assert np.isnan(e)
    assert np.isnan(f).all()
    assert refused_claims(build) == 1.0


def test_silver_is_claimed_and_raises() -> None:
    build = BROKEN["refuses_claimed_species"].build
    assert build.claims == ("Cu", "Au", "Ag")
    with pytest.raises(ValueError, match="'Ag'"):
        energy(build, cluster(symbols="Cu7Ag"))


def test_only_in_nm_are_the_bonds_too_short() -> None:
    usual, other = (WrongUnitConversion.build_in_units(units) for units in WrongUnitConversion.unit_sets)
    assert difference(values(usual, cluster()), values(CopperGold(), cluster())) == 0.0
    assert np.abs(values(other, dimer(COPPER_BOND / 1.02**0.5))[1]).max() < 1e-12
    assert forces_against_energy(lambda: WrongUnitConversion.build_in_units("nm")) < LEVEL[forces_against_energy]


def batch_errors(build: Build, structures: list[Atoms]) -> tuple[list[float], list[float]]:
    """Errors of energies (eV) and forces (eV/Å) in a batch, for each structure."""
    batch = build.build_batch().evaluate([from_atoms(atoms) for atoms in structures])  # type: ignore[attr-defined]
    pairs = list(zip(batch, (values(CopperGold(), atoms) for atoms in structures), strict=True))
    return [abs(a[0] - b[0]) for a, b in pairs], [float(np.abs(a[1] - b[1]).max()) for a, b in pairs]


def test_forces_in_a_batch_are_those_of_the_structure_before_if_it_has_the_same_size() -> None:
    energies, forces = batch_errors(BROKEN["batch_mixes_structures"].build, [cluster(0), cluster(1), crystal()])
    assert energies == [0.0, 0.0, 0.0]
    assert forces[0] == forces[2] == 0.0
    assert forces[1] > 0.1


def test_the_sound_batch_gives_the_same_as_single_structures() -> None:
    assert batch_errors(SOUND["sound_batch"], [cluster(0), cluster(1), crystal()]) == ([0.0] * 3, [0.0] * 3)
