"""Orb-d3-xs-v2: a real model whose forces are not the slope of its energy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from assay.structure import Structure, from_atoms
from assay.testing import assert_charge_is_refused, assert_one_sentence, assert_refuses, numerical_forces
from assay.testing.answers import answer_of
from families import checkpoint, opened

pytestmark = pytest.mark.family("orb")

NAME = "orb-d3-xs-v2"


def test_forces_are_not_the_slope_of_the_energy() -> None:
    """Why this model is in the list: if they agree, an adapter or a new release has changed the model."""
    water = molecule("H2O")
    water.rattle(0.05, seed=3)
    structure = from_atoms(water)
    forces = answer_of(opened(NAME).build(), structure)[1]
    assert np.abs(forces - numerical_forces(opened(NAME), structure, 0.01)).max() > 0.5


def test_charges_are_refused_and_zero_is_no_charge() -> None:
    assert_charge_is_refused(opened(NAME), match="neutral")


def test_elements_without_training_data_are_named() -> None:
    assert_refuses(opened(NAME), Structure.build([84, 84], [[0, 0, 0], [0, 0, 2.5]]), r"does not support Po \(Z = 84\)")


@pytest.mark.parametrize("pattern", ["TTF", "TFF"])
def test_slabs_and_wires_are_not_claimed_because_orb_refuses_them(pattern: str) -> None:
    assert opened(NAME).card.pbc == ("FFF", "TTT")
    assert_refuses(opened(NAME), Structure.build([29], [[0, 0, 0]], 3.6 * np.eye(3), pattern), "NotImplementedError")


def test_a_checkpoint_with_a_part_missing_is_refused(tmp_path: Path) -> None:
    """Orb's own loader would leave a missing head at random numbers."""
    import torch

    weights = torch.load(checkpoint(NAME), weights_only=True)
    short = {name: value for name, value in weights.items() if not name.startswith("node_head.")}
    torch.save(short, tmp_path / "headless.ckpt")
    assert_one_sentence("orb", tmp_path / "headless.ckpt", "is not a complete Orb v2 checkpoint")
