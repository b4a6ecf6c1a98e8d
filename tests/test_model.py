"""A model says what it claims: elements, periodic directions, charge and spin."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import AssayError
from assay.model import ModelCard, claims_card
from assay.models.loading import load_model


@pytest.mark.parametrize(
    ("claims", "elements"),
    [
        (("Cu", "Au"), (29, 79)),
        (["Au", "Cu"], (29, 79)),
        ((79, 29), (29, 79)),
        (("Cu", 79), (29, 79)),
        ((np.int64(79), np.int32(29)), (29, 79)),
        ({"elements": ("Cu", "Au")}, (29, 79)),
        ({"elements": None}, None),
        ({"charge": True}, None),
        (None, None),
    ],
)
def test_claims_are_a_list_of_elements_or_a_card(claims: object, elements: tuple[int, ...] | None) -> None:
    assert claims_card("m", claims).elements == elements


def test_claims_may_fill_the_whole_card() -> None:
    claims = {
        "elements": ["H"],
        "pbc": ["FFF", "TTT"],
        "charge": True,
        "spin": False,
        "theory": "HF",
        "notes": ["slow"],
    }
    card = claims_card("m", claims)
    assert card == ModelCard("m", (1,), ("FFF", "TTT"), True, False, theory="HF", notes=("slow",))


@pytest.mark.parametrize(
    ("claims", "part"),
    [
        ({"element": ("Cu",)}, "unknown field 'element'"),
        (("Cu", "Xx"), "unknown element 'Xx'"),
        (("cu",), "unknown element 'cu'"),
        ((0,), "unknown element"),
        ("CuAu", "unknown element"),
    ],
)
def test_wrong_claims_are_one_sentence(claims: object, part: str) -> None:
    with pytest.raises(AssayError) as error:
        claims_card("m", claims)
    assert part in str(error.value)
    assert "'m'" in str(error.value)


@pytest.mark.parametrize("claims", [(200,), (-1,), 5, {"pbc": "TTT"}, {"pbc": ("TT",)}])
def test_claims_that_mean_nothing_are_one_sentence(claims: object) -> None:
    with pytest.raises(AssayError):
        claims_card("m", claims)


def test_an_element_claimed_twice_counts_once() -> None:
    assert claims_card("m", ("Cu", "Cu")).elements == (29,)


def test_a_model_describes_itself_as_plain_data() -> None:
    description = load_model("emt").describe()
    assert description["name"] == "emt"
    assert description["fingerprint"] == load_model("emt").fingerprint
    assert {"elements", "pbc", "charge", "spin", "theory", "licence"} <= set(description)
