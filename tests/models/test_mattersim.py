"""MatterSim: pairs of bonds in a batch, rounding of positions, and slabs that its calculator tears apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, fcc111, molecule

from assay.errors import ModelFailure
from assay.structure import Structure, from_atoms
from assay.testing import assert_one_sentence, standard_structures
from assay.testing.answers import answer_of, batch_answers, batch_of
from families import checkpoint, opened

pytestmark = pytest.mark.family("mattersim")

SMALL = "mattersim-1m"


def test_a_batch_with_too_many_pairs_of_bonds_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of(opened(SMALL))
    mixed = [from_atoms(bulk("Cu")), *standard_structures(pbc=("FFF", "TTT")).values(), from_atoms(bulk("Si"))]
    whole = batch.evaluate(mixed)
    passes: list[int] = []
    forward = batch._graph  # type: ignore[attr-defined]
    monkeypatch.setattr(batch, "_graph", lambda some, pairs: passes.append(len(some)) or forward(some, pairs))
    monkeypatch.setattr("assay.models._mattersim_batch.PASS_SIZE", 100)
    for (energy, forces), (again, same) in zip(whole, batch.evaluate(mixed), strict=True):
        assert again == pytest.approx(energy, rel=1e-5)
        np.testing.assert_allclose(same, forces, atol=1e-4 * max(1.0, np.abs(forces).max()))
    assert len(passes) > 1
    assert sum(passes) == len(mixed)


def test_where_a_structure_lies_does_not_matter() -> None:
    water = from_atoms(molecule("H2O"))
    far = water.moved(water.positions + 3000.0)
    (energy, forces), (again, same) = batch_answers(batch_of(opened(SMALL)), [water, far])
    assert again == pytest.approx(energy, abs=1e-5)
    np.testing.assert_allclose(same, forces, atol=1e-3)


def test_a_batch_rounds_positions_as_the_calculator_does() -> None:
    """Atoms on both sides of the origin are folded to both ends of a box, where single precision is coarser."""
    places = np.array([[0.5, 0.3, -0.6], [-0.5, 0.4, 0.5], [0.6, -0.5, 0.4], [0.0, 0.0, -1.6]])
    dense = Structure.build([8] * 4, 0.9 * places)
    batch = batch_answers(batch_of(opened(SMALL)), [dense, from_atoms(molecule("H2O"))])
    assert batch[0][0] == pytest.approx(answer_of(opened(SMALL).build(), dense)[0], abs=5e-6)


def test_slabs_are_not_claimed_because_the_calculator_tears_them() -> None:
    calculator = opened(SMALL).build()
    slab = from_atoms(fcc111("Cu", (1, 1, 3), vacuum=15.0))
    low = slab.moved(slab.positions - [0.0, 0.0, 17.0])
    assert abs(answer_of(calculator, slab)[0] - answer_of(calculator, low)[0]) > 0.5  # eV; it should be nothing
    assert opened(SMALL).card.pbc == ("FFF", "TTT")
    with pytest.raises(ModelFailure, match="in all directions or in none"):
        batch_of(opened(SMALL)).evaluate([slab])


def test_elements_beyond_the_network_are_refused_in_words() -> None:
    with pytest.raises(ModelFailure, match="up to 94, not 96"):
        batch_of(opened(SMALL)).evaluate([Structure.build([96], [[0, 0, 0]])])


def test_weights_of_another_size_are_refused(tmp_path: Path) -> None:
    import torch

    content = torch.load(checkpoint(SMALL), map_location="cpu")
    torch.save({**content, "model_args": {**content["model_args"], "units": 64}}, tmp_path / "wrong.pth")
    assert_one_sentence("mattersim", tmp_path / "wrong.pth", "do not fit")
