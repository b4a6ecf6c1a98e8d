"""ANI-1ccx and ANI-1x: elements that torchani would take for padding, and eight networks in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase.build import molecule
from ase.data import atomic_numbers

from assay.structure import Structure, from_atoms
from assay.testing import assert_refuses
from families import opened

pytestmark = pytest.mark.family("ani")


@pytest.mark.parametrize("name", ["ani-1ccx", "ani-1x"])
def test_the_card_has_the_elements_of_the_network(name: str) -> None:
    symbols = opened(name).build().model.species  # type: ignore[attr-defined]
    assert tuple(atomic_numbers[symbol] for symbol in symbols) == opened(name).card.elements


def test_unknown_elements_are_named() -> None:
    assert_refuses(
        opened("ani-1ccx"), Structure.build([9, 1], [[0, 0, 0], [0, 0, 0.92]]), r"does not support F \(Z = 9\)"
    )


@pytest.fixture(scope="module")
def ensembles() -> tuple[Any, Any]:
    """The ensemble of torchani, and a copy of it with stacked networks."""
    from assay.models._ani_layers import StackedEnsemble, stack_networks
    from assay.models.ani import _ensemble

    original, stacked = _ensemble("ANI1ccx", "cpu"), _ensemble("ANI1ccx", "cpu")
    stack_networks(stacked)
    assert isinstance(stacked.neural_networks, StackedEnsemble)
    assert not isinstance(original.neural_networks, StackedEnsemble)
    return original, stacked


def test_the_stacked_networks_are_those_of_torchani_within_rounding(ensembles: tuple[Any, Any]) -> None:
    import torch

    # Two molecules: ethanol, and water with places for atoms that it does not have (species -1).
    species = torch.tensor([[1, 1, 3, 0, 0, 0, 0, 0, 0], [3, 0, 0, -1, -1, -1, -1, -1, -1]])
    places = np.zeros((2, 9, 3), dtype=np.float32)
    places[0], places[1, :3] = molecule("CH3CH2OH").positions, molecule("H2O").positions
    answers = []
    for model in ensembles:
        coordinates = torch.tensor(places, requires_grad=True)
        energies = model((species, coordinates)).energies
        answers.append((energies.detach().numpy(), torch.autograd.grad(energies.sum(), coordinates)[0].numpy()))
    (energies, gradients), (stacked_energies, stacked_gradients) = answers
    np.testing.assert_allclose(stacked_energies, energies, atol=1e-6)  # Hartree
    np.testing.assert_allclose(stacked_gradients, gradients, atol=2e-6)
    assert np.abs(gradients[0]).max() > 1e-3


def test_the_stack_is_the_mean_of_all_networks_and_not_of_some(ensembles: tuple[Any, Any]) -> None:
    import torch

    original, stacked = ensembles
    species, features = torch.tensor([[0, 1, 2, 3]]), torch.rand(1, 4, 384, generator=torch.manual_seed(0))
    each = [float(network((species, features))[1]) for network in original.neural_networks]
    assert len(each) == 8
    assert np.std(each) > 1e-3
    assert float(stacked.neural_networks((species, features))[1]) == pytest.approx(np.mean(each), abs=1e-6)


def test_networks_with_unlike_layers_stay_as_they_are(ensembles: tuple[Any, Any]) -> None:
    import torch

    from assay.models._ani_layers import stack_networks
    from assay.models.ani import _ensemble

    model = _ensemble("ANI1ccx", "cpu")
    model.neural_networks[3]["H"][1] = torch.nn.GELU()
    kept = model.neural_networks
    stack_networks(model)
    assert model.neural_networks is kept


def test_molecules_and_crystals_get_the_energies_of_the_calculator() -> None:
    model = opened("ani-1ccx")
    box = molecule("CH3OH", cell=[6.0, 6.5, 7.0], pbc=True)
    structures = [from_atoms(molecule("C6H6")), from_atoms(box), from_atoms(molecule("H2O"))]
    for structure, (energy, forces) in zip(structures, model.build_batch().evaluate(structures), strict=True):  # type: ignore[misc]
        atoms = structure.to_atoms()
        atoms.calc = model.build()
        assert energy == pytest.approx(atoms.get_potential_energy(), abs=1e-4)
        np.testing.assert_allclose(forces, atoms.get_forces(), atol=1e-4)
