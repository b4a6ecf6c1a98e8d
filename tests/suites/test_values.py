"""Settings of a suite have the type and sign that the benchmark expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.suites import load_suite

WRONG = [
    ("general.stability", "steps", "-5", "a whole number above 0"),
    ("general.stability", "steps", "0", "a whole number above 0"),
    ("general.stability", "steps", "1000.0", "a whole number above 0"),
    ("general.stability", "steps", "true", "a whole number above 0"),
    ("general.stability", "steps", "'many'", "a whole number above 0"),
    ("general.stability", "steps", "[1000]", "a whole number above 0"),
    ("general.stability", "steps", "1000000000000000000000", "a whole number above 0"),
    ("general.stability", "records", "-1", "a whole number above 0"),
    ("general.stability", "seeds", "1979-05-27", "a whole number above 0"),
    ("molecules.bond_lengths", "until_error", "-0.1", "a number above 0"),
    ("molecules.bond_lengths", "until_error", "nan", "a number above 0"),
    ("molecules.bond_lengths", "drop_start", "1", "true or false"),
    ("molecules.reactivity_neb", "force_limit", "inf", "a number above 0"),
    ("molecules.reactivity_neb", "force_limit", "9" * 400, "a number above 0"),
    ("physicality.diatomics", "species", "3", "text"),
    ("physicality.extensivity", "gaps", "100.0", "a list, each item a number above 0"),
    ("physicality.extensivity", "gaps", "[]", "a list, each item a number above 0"),
    ("physicality.extensivity", "gaps", "[100.0, -1.0]", "a list, each item a number above 0"),
    ("physicality.extensivity", "gaps", "['far']", "a list, each item a number above 0"),
    ("verification.memory_stable", "seconds", "{a = 1}", "a number above 0"),
]


def suite(folder: Path, name: str, setting: str, value: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(f"benchmarks = ['{name}']\n[settings.'{name}']\n{setting} = {value}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "setting", "value", "wanted"), WRONG)
def test_a_value_of_the_wrong_type_or_sign_is_refused(
    tmp_path: Path, name: str, setting: str, value: str, wanted: str
) -> None:
    with pytest.raises(AssayError) as error:
        load_suite(str(suite(tmp_path, name, setting, value))).build()
    assert f"sets '{setting}' of '{name}' to " in str(error.value)
    assert str(error.value).endswith(f"which is not {wanted}")


@pytest.mark.parametrize(
    ("name", "setting", "value", "expected"),
    [
        ("general.stability", "steps", "10", 10),
        ("general.stability", "records", "2", 2),
        ("molecules.bond_lengths", "until_error", "1", 1),
        ("molecules.bond_lengths", "drop_start", "false", False),
        ("physicality.extensivity", "gaps", "[100, 120.5]", (100, 120.5)),
        ("physicality.diatomics", "species", "'sample'", "sample"),
    ],
)
def test_right_values_arrive(tmp_path: Path, name: str, setting: str, value: str, expected: object) -> None:
    (benchmark,) = load_suite(str(suite(tmp_path, name, setting, value))).build()
    assert getattr(benchmark, setting) == expected


def test_settings_of_a_category_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("benchmarks = ['general.stability']\n[settings.general]\nsteps = -1\n", encoding="utf-8")
    with pytest.raises(AssayError, match=r"sets 'steps' of 'general\.stability' to -1"):
        load_suite(str(path)).build()
