"""CHGNet: its package's own numbers, undirected bonds, molecules without a cell, and elements without data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, molecule

from assay.errors import ModelFailure
from assay.structure import Structure, from_atoms
from assay.testing import Tolerance, assert_matches_upstream, assert_one_sentence, skewed_cell
from families import checkpoint, opened

pytestmark = pytest.mark.family("chgnet")

FIRST = "chgnet-0.3.0"


@pytest.mark.parametrize("name", ["chgnet-0.3.0", "chgnet-0.2.0", "chgnet-r2scan"])
def test_the_calculator_gives_exactly_what_chgnet_itself_gives(name: str) -> None:
    from chgnet.model.dynamics import CHGNetCalculator
    from chgnet.model.model import CHGNet

    network = CHGNet.load(model_name=name.removeprefix("chgnet-"), use_device="cpu", verbose=False)
    upstream = CHGNetCalculator(model=network, use_device="cpu")
    salt = from_atoms(bulk("NaCl", "rocksalt", 5.4))
    salt = salt.moved(salt.positions + np.array([[0.1, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert_matches_upstream(opened(name), upstream, {"NaCl": salt, "cell": skewed_cell()}, Tolerance())


def test_r2scan_has_no_data_for_ytterbium() -> None:
    fitted = {
        name: opened(name).build().model.composition_model.fc.weight.detach().numpy().ravel()  # type: ignore[attr-defined]
        for name in (FIRST, "chgnet-r2scan")
    }
    silent = {name: [z for z, own in enumerate(values, 1) if abs(own) < 1e-9] for name, values in fitted.items()}
    assert silent == {FIRST: [], "chgnet-r2scan": [70, 84, 85, 86, 87, 88]}
    left = [z for z in range(1, 95) if z not in silent["chgnet-r2scan"]]
    assert list(opened("chgnet-r2scan").card.elements or ()) == left


def test_molecules_without_a_cell_have_no_stress() -> None:
    calculator = opened(FIRST).build()
    for cell, has_stress in ((None, False), (20.0 * np.eye(3), True)):
        calculator.calculate(molecule("H2O", cell=cell, pbc=has_stress), ["energy", "forces"])
        assert ("stress" in calculator.results) is has_stress


def test_a_calculator_that_completed_a_cell_answers_the_next_structure() -> None:
    atoms = molecule("H2O")
    atoms.calc = opened(FIRST).build()
    first = atoms.get_potential_energy()
    atoms.positions[0, 2] += 0.1
    assert abs(atoms.get_potential_energy() - first) > 0.01
    assert not atoms.cell.any()


def test_elements_beyond_the_network_are_refused_in_words() -> None:
    with pytest.raises(ModelFailure, match="up to 94, not 96"):
        opened(FIRST).build_batch().evaluate([Structure.build([96], [[0, 0, 0]])])  # type: ignore[misc]


def test_weights_of_another_size_are_refused(tmp_path: Path) -> None:
    import torch

    content = torch.load(checkpoint(FIRST), map_location="cpu")
    content["model"]["model_args"]["atom_fea_dim"] = 32
    torch.save(content, tmp_path / "wrong.pth")
    assert_one_sentence("chgnet", tmp_path / "wrong.pth", "do not fit")
