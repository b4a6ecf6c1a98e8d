"""Constants agree with those of ASE, in the units of Assay."""

from __future__ import annotations

import pytest
from ase import units

from assay.units import ACCELERATION, BAR, BOLTZMANN, KCAL


def test_constants_are_those_of_ase() -> None:
    assert pytest.approx(units.kB, rel=1e-6) == BOLTZMANN
    assert pytest.approx(units.mol / units.kcal, rel=1e-9) == KCAL
    assert pytest.approx(units.fs**2, rel=1e-6) == ACCELERATION
    assert pytest.approx(units.bar, rel=1e-6) == BAR
