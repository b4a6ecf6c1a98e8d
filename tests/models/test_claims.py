"""Structures outside of the claims of a model are refused by name, and a change of the charge alone is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import molecule

from assay.errors import ModelFailure
from assay.models._calculators import voigt, with_info_changes
from assay.models._claims import ELEMENTS_89, require_elements, require_neutral


def test_unsupported_elements_are_named_by_symbol_and_number() -> None:
    with pytest.raises(ModelFailure, match=r"^this model does not support Si \(Z = 14\), Fe \(Z = 26\)$"):
        require_elements([1, 26, 14, 14], (1, 6), "this model")
    with pytest.raises(ModelFailure, match=r"does not support Z = 130$"):
        require_elements([130], (1, 6), "this model")


def test_supported_elements_are_accepted() -> None:
    require_elements([1, 6, 6], (1, 6), "this model")
    require_elements([], (1, 6), "this model")


def test_there_are_89_elements_in_the_materials_project() -> None:
    assert len(ELEMENTS_89) == 89
    assert {1, 83, 89, 94} <= set(ELEMENTS_89)
    assert not {84, 85, 86, 87, 88, 95} & set(ELEMENTS_89)


def test_charged_structures_are_refused_and_zero_is_not_a_charge() -> None:
    require_neutral(None, "this model")
    require_neutral(0, "this model")
    with pytest.raises(ModelFailure, match="this model supports only neutral structures, not the charge -1"):
        require_neutral(-1, "this model")


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({}, {}, False),
        ({"charge": 1}, {"charge": 1}, False),
        ({"charge": 1}, {}, True),
        ({}, {"charge": 1}, True),
        ({"charge": 1}, {"charge": -1}, True),
        ({"note": "a"}, {"note": "b"}, False),
    ],
)
def test_a_change_of_the_charge_is_added_to_the_changes(
    before: dict[str, object], now: dict[str, object], changed: bool
) -> None:
    last, atoms = molecule("H2O"), molecule("H2O")
    last.info, atoms.info = before, now
    assert with_info_changes(["positions"], last, atoms, "charge") == ["positions"] + ["info"] * changed


def test_without_a_last_structure_only_a_charge_is_a_change() -> None:
    atoms = molecule("H2O")
    assert with_info_changes([], None, atoms, "charge", "spin") == []
    atoms.info["spin"] = 3
    assert with_info_changes([], None, atoms, "charge", "spin") == ["info"]


def test_components_of_the_stress_are_in_the_order_of_ase() -> None:
    from ase.stress import full_3x3_to_voigt_6_stress

    stress = np.array([[1.0, 6.0, 5.0], [6.0, 2.0, 4.0], [5.0, 4.0, 3.0]])
    assert voigt(stress).tolist() == full_3x3_to_voigt_6_stress(stress).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
