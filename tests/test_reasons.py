"""Reasons are grouped by what they are; none speaks for cases that have another one."""

from __future__ import annotations

import pytest
from ase.data import chemical_symbols

from assay.elements import SYMBOLS, atomic_numbers, symbols_of
from assay.errors import AssayError
from assay.reasons import Reason, counted, grouped, not_supported, sentences

JUMPS = [
    Reason("Al-Al", "energy jump at an Al–Al distance of 5.877 Å: 0.0011 eV, allowed 0.0001"),
    Reason("Al-Ni", "energy jump at an Al–Ni distance of 5.9 Å: 1.2e-03 eV, allowed 0.0001"),
]


def test_ions_and_foreign_elements_are_counted_apart() -> None:
    ions = [Reason(f"ion{i}", f"the model does not support charges, and this is {i - 2:+d}") for i in (1, 3, 4)]
    foreign = [Reason(f"m{i}", f"the model does not support {e}") for i, e in enumerate(("S", "F", "F S", "S"))]
    assert not_supported([*ions, *foreign]) == "4 with F or S (m0, m1, m2, m3); 3 ions (ion1, ion3, ion4)"
    assert not_supported(ions[:1]) == "1 ion (ion1)"
    many = [Reason(f"m{i}", "the model does not support Cl") for i in range(5)]
    assert not_supported([*many, Reason("bond", "its stiffness is unknown")]) == (
        "5 with Cl; 1 (bond): its stiffness is unknown"
    )


def test_numbers_elements_and_labels_do_not_make_another_kind() -> None:
    (group,) = grouped(JUMPS)
    assert group.sentence == f"Al-Al, Al-Ni: for example Al-Al: {JUMPS[0].text}"
    labels = [Reason(n, f"{n} atom 0 z: 3 eV/Å, allowed 1") for n in ("Cu-cluster", "CuAu-TTT", "Au-cluster12")]
    assert len(grouped(labels)) == 1
    assert len(grouped([Reason(e, f"KeyError: '{e}'") for e in ("Ag", "Pd")])) == 1


@pytest.mark.parametrize(
    "other",
    [
        Reason("c", "force jump at an Al–Al distance of 5.877 Å: 0.0011 eV, allowed 0.0001"),
        Reason("c", "the energy is NaN"),
        Reason("c", JUMPS[0].text, cause="refused"),
    ],
)
def test_other_words_and_other_causes_are_other_kinds(other: Reason) -> None:
    text = sentences([*JUMPS, other])
    assert text == f"2 (Al-Al, Al-Ni): for example Al-Al: {JUMPS[0].text}; 1 (c): {other.text}"


def test_a_name_that_the_reason_repeats_is_told_once() -> None:
    zero = [Reason(name, f"{name}: all forces are zero") for name in ("Cu-TTF", "Cu-cluster")]
    assert sentences(zero) == "Cu-TTF, Cu-cluster: all forces are zero"


def test_structures_without_names_are_counted() -> None:
    assert counted(["NaN"]) == "NaN"
    assert counted(["atom 3 is too close", "NaN", "atom 4 is too close"]) == "2 × atom 3 is too close; 1 × NaN"
    assert counted([]) == ""


def test_elements_are_symbols_or_numbers() -> None:
    assert tuple(chemical_symbols[1:119]) == SYMBOLS
    assert atomic_numbers(("Au", 29, "Cu"), "the claims") == (29, 79)
    assert atomic_numbers("Cu", "the claims") == (29,)
    assert symbols_of((29, 79)) == ["Cu", "Au"]
    for wrong in ("Xx", 0, 119, True, 1.5, None):
        with pytest.raises(AssayError, match="the claims name the unknown element"):
            atomic_numbers([wrong], "the claims")
