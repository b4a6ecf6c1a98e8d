"""Any name becomes a safe folder name, and a misspelt name gets a suggestion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.naming import did_you_mean, slug


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("gfn2-xtb", "gfn2-xtb"),
        ("model.py:build", "model.py-build"),
        ("kim:EAM_Dynamo__MO_1_000", "kim-EAM_Dynamo__MO_1_000"),
        ("../../etc/passwd", "etc-passwd"),
        ("/", "model"),
        ("..", "model"),
        ("", "model"),
        (".hidden", "hidden"),
        ("a\\b\0c\nd", "a-b-c-d"),
        ("モデル", "model"),
        ("<lambda>", "lambda"),
    ],
)
def test_a_name_becomes_a_safe_folder_name(name: str, folder: str) -> None:
    assert slug(name) == folder


@given(st.text())
def test_no_folder_name_leads_to_another_folder(name: str) -> None:
    folder = slug(name)
    assert folder
    assert folder not in (".", "..")
    assert not folder.startswith((".", "-"))
    assert folder.isascii()
    assert not set(folder) & set("/\\:\0\n *?\"<>|'")
    assert slug(folder) == folder


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gfn2-xbt", " (did you mean 'gfn2-xtb'?)"),
        ("emtt", " (did you mean 'emt'?)"),
        ("rotation_invarianc", " (did you mean 'verification.rotation_invariance'?)"),
        ("zzzzzzzz", ""),
        ("", ""),
    ],
)
def test_a_misspelt_name_gets_a_suggestion_and_an_unrelated_one_none(name: str, hint: str) -> None:
    assert did_you_mean(name, ["emt", "gfn2-xtb", "verification.rotation_invariance"]) == hint


def test_a_name_without_its_category_gets_a_suggestion() -> None:
    assert did_you_mean("cel", ["a_very_long_category.cell"]) == " (did you mean 'a_very_long_category.cell'?)"


def test_without_valid_names_there_is_no_suggestion() -> None:
    assert did_you_mean("emt", []) == ""


def test_valid_names_may_come_from_a_generator() -> None:
    assert did_you_mean("emtt", (name for name in ("emt",))) == " (did you mean 'emt'?)"
