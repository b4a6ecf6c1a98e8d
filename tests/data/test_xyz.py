"""XYZ files are read as text: names keep their spelling, and every error has a line number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.xyz import read_frames
from assay.errors import AssayError

WATER = '3\nrecord=007 coordinate=1.10 note="two words" empty=\nO 0 0 0\nH 0.96 0 0\nH -0.24 0.93 0\n'
EXTENDED = (
    '1\nLattice="4 0 0 0 5 0 0 0 6" Properties=forces:R:3:pos:R:3:species:S:1 pbc="T T F"\n9 9 9 0.5 1.5 2.5 Cu\n'
)


def test_names_that_look_like_numbers_stay_names() -> None:
    (frame,) = read_frames(WATER, "'w.xyz'")
    assert dict(frame.keys) == {"record": "007", "coordinate": "1.10", "note": "two words", "empty": ""}
    assert frame.structure.numbers.tolist() == [8, 1, 1]
    assert frame.structure.positions[2].tolist() == [-0.24, 0.93, 0.0]
    assert frame.structure.pbc == (False, False, False)


def test_properties_say_which_columns_are_positions_and_the_lattice_makes_it_periodic() -> None:
    (frame,) = read_frames(EXTENDED, "'c.xyz'")
    assert frame.structure.numbers.tolist() == [29]
    assert frame.structure.positions.tolist() == [[0.5, 1.5, 2.5]]
    assert np.diag(frame.structure.cell).tolist() == [4.0, 5.0, 6.0]
    assert frame.structure.pattern == "TTF"


def test_frames_follow_each_other_with_their_lines() -> None:
    frames = list(read_frames(WATER + "\n\n" + WATER, "'w.xyz'"))
    assert [frame.line for frame in frames] == [1, 8]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("three\n\nO 0 0 0\n", "'w.xyz' line 1 must be the number of atoms, but is 'three'"),
        ("999999999\n\nO 0 0 0\n", "must be the number of atoms"),
        ("0\n\n", "must be the number of atoms"),
        ("2\n\nO 0 0 0\n", "'w.xyz' ends in the middle of the frame that begins on line 1; it is incomplete"),
        ("1\n\nO 0 zero 0\n", "the atoms of the frame on line 1 of 'w.xyz' cannot be read"),
        ("1\n\nO 0 0\n", "the atoms of the frame on line 1 of 'w.xyz' cannot be read"),
        ("1\n\nXx 0 0 0\n", "there is no element Xx"),
        ('1\nLattice="1 2 3"\nO 0 0 0\n', "'Lattice' in 'w.xyz' line 2 must be nine numbers, but is '1 2 3'"),
        ('1\npbc="T T T"\nO 0 0 0\n', "but the frame has no 'Lattice'"),
        ('1\npbc="yes"\nO 0 0 0\n', "must be three letters T or F, but is 'yes'"),
        ("1\nProperties=species:S:1\nO 0 0 0\n", "lacks 'species' or 'pos'"),
    ],
)
def test_faults_are_one_sentence_with_the_line(text: str, words: str) -> None:
    with pytest.raises(AssayError) as caught:
        list(read_frames(text, "'w.xyz'"))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_in_a_sentence(text: str) -> None:
    complaint = ""
    try:
        list(read_frames(text, "'w.xyz'"))
    except AssayError as error:
        complaint = str(error)
    assert not complaint or "w.xyz" in complaint


@pytest.mark.parametrize("width", ["9" * 5000, "999999999999"])
def test_columns_that_are_far_too_wide_are_a_complaint(width: str) -> None:
    text = f"1\nProperties=species:S:{width}:pos:R:3\nCu 0.0 0.0 0.0\n"
    with pytest.raises(AssayError, match="cannot be read"):
        list(read_frames(text, "'x.xyz'"))


def test_a_width_that_only_looks_like_a_number_counts_as_one_column() -> None:
    (frame,) = read_frames("1\nProperties=species:S:²3:pos:R:3\nCu 0.0 0.0 2.0\n", "'x.xyz'")
    assert frame.structure.positions.tolist() == [[0.0, 0.0, 2.0]]
