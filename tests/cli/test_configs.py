"""The structures of the checks as extended XYZ files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.io import read

from assay.api import Settings, surveyed
from assay.cli.configs import write_configurations
from assay.errors import AssayError


def test_configurations_are_written_as_extended_xyz(tmp_path: Path) -> None:
    settings = Settings(workers=0, elements=(29,))
    count = write_configurations("assay.sabotage:sound", settings, tmp_path / "results", tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    patterns = ["FFF", "FFT", "FTF", "FTT", "TFF", "TFT", "TTF", "TTT"]
    assert names == [f"config-Cu-{pattern}.xyz" for pattern in patterns]
    assert count == 8
    survey = surveyed("assay.sabotage:sound", tmp_path / "results", settings)
    ((_, crystal),) = survey.crystals("TTF")
    atoms = read(tmp_path / "out" / "config-Cu-TTF.xyz")
    assert atoms.pbc.tolist() == [True, True, False]
    np.testing.assert_allclose(atoms.positions, crystal.positions, atol=1e-7)
    np.testing.assert_allclose(atoms.cell.array, crystal.cell, atol=1e-7)


def test_a_folder_for_configurations_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(AssayError, match="cannot be made"):
        write_configurations("emt", Settings(workers=0), tmp_path / "results", tmp_path / "out")
