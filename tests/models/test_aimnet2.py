"""AIMNet2: molecules only, and elements that the file answers for without having been trained on them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ase.build import bulk, molecule

from assay.structure import Structure, from_atoms
from assay.testing import assert_one_sentence, assert_refuses
from families import opened

pytestmark = pytest.mark.family("aimnet2")

both = pytest.mark.parametrize("name", ["aimnet2", "aimnet2-ensemble"])


@both
def test_untrained_elements_are_refused_though_the_file_answers_for_them(name: str) -> None:
    import torch

    iron = Structure.build([26, 1, 1], molecule("H2O").positions)
    assert_refuses(opened(name), iron, r"does not support Fe \(Z = 26\)")
    given = {"coord": torch.tensor(iron.positions[None]), "numbers": torch.tensor(iron.numbers[None])}
    network = opened(name).build_batch().network  # type: ignore[misc, attr-defined]
    assert network({**given, "charge": torch.zeros(1)})["energy"].isfinite().all()


@both
def test_periodic_structures_are_refused(name: str) -> None:
    assert_refuses(opened(name), from_atoms(bulk("C")), "molecules only")


def test_another_network_is_refused(tmp_path: Path) -> None:
    import torch

    torch.jit.save(torch.jit.script(torch.nn.Linear(3, 1)), str(tmp_path / "other.jpt"))
    assert_one_sentence("aimnet2", tmp_path / "other.jpt", "has no AIMNet2 reference energies")
