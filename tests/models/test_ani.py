"""ANI-1ccx and ANI-1x: elements that torchani would take for padding."""

from __future__ import annotations

import pytest
from ase.data import atomic_numbers

from assay.structure import Structure
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
