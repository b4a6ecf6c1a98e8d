"""SevenNet: checkpoints with several heads, mirror images, and elements that it refuses in words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule

from assay.errors import AssayError, ModelFailure
from assay.models import sevennet
from assay.models.loading import load_model
from assay.structure import Structure, from_atoms
from assay.testing import assert_refuses, single_answers
from assay.testing.answers import answer_of, batch_answers, batch_of
from families import checkpoint, opened

pytestmark = pytest.mark.family("sevennet")

FIRST = "sevennet-0"


def test_the_two_releases_of_sevennet_0_are_different_models() -> None:
    water = {"water": from_atoms(molecule("H2O"))}
    new, old = (single_answers(opened(name), water)["water"][0] for name in (FIRST, "sevennet-0-22may2024"))
    assert abs(new - old) > 1e-3


def test_a_lone_carbon_atom_has_the_published_energy() -> None:
    assert answer_of(opened(FIRST).build(), Structure.build([6], [[0, 0, 0]]))[0] == pytest.approx(-2.0688, abs=1e-4)


def test_unknown_elements_are_named() -> None:
    assert_refuses(opened(FIRST), Structure.build([85, 1], [[0, 0, 0], [0, 0, 1.7]]), r"does not support At \(Z = 85\)")


def test_a_refused_structure_can_carry_the_calculator() -> None:
    atoms = Atoms("AtH", [[0, 0, 0], [0, 0, 1.7]])
    atoms.calc = opened(FIRST).build()
    with pytest.raises(ModelFailure, match=r"does not support At \(Z = 85\)"):
        atoms.get_potential_energy()


def test_mirror_images_differ_as_the_card_says() -> None:
    cluster = Structure.build([8, 1, 6, 7], [[0, 0, 0], [1.0, 0.1, 0], [-0.4, 1.4, 0.2], [-0.6, -0.5, 1.3]])
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    images = [cluster.transformed(matrix) for matrix in (np.eye(3), turn, -np.eye(3))]
    energies = [energy for energy, _ in batch_answers(batch_of(opened(FIRST)), images)]
    assert energies[1] == pytest.approx(energies[0], abs=1e-4)
    assert 1e-3 < abs(energies[2] - energies[0]) < 1.0


def test_a_head_of_a_checkpoint_is_chosen_by_name(tmp_path: Path) -> None:
    mine = tmp_path / "mf.pth"
    shutil.copy(checkpoint("sevennet-mf-0-pbe"), mine)
    model = load_model(f"sevennet:{mine}@R2SCAN")
    assert model.name == "sevennet:mf.pth@R2SCAN"
    assert model.card.elements == sevennet.ELEMENTS
    assert model.reference is not None
    again = load_model(model.reference)
    assert again.fingerprint == model.fingerprint != load_model(f"sevennet:{mine}@PBE").fingerprint
    assert answer_of(again.build(), from_atoms(molecule("H2O")))[0] == pytest.approx(-15.432, abs=2e-3)
    for wrong in (f"sevennet:{mine}", f"sevennet:{mine}@SCAN"):
        with pytest.raises(AssayError, match=r"several heads .*mf\.pth@R2SCAN or .*@PBE"):
            load_model(wrong)


def test_the_weights_are_part_of_the_fingerprint() -> None:
    entry, other = sevennet.MODELS[FIRST], sevennet.MODELS["sevennet-l3i5"]
    assert replace(entry, inside=other.inside).open().fingerprint != entry.open().fingerprint
