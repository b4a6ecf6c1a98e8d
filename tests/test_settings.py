"""Settings are plain data that cannot change, and a wrong value is one sentence."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from assay.errors import AssayError
from assay.settings import DEFAULTS, Settings, silent


def test_settings_do_not_change_once_they_are_made() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULTS.workers = 2  # type: ignore[misc]


def test_every_setting_has_a_default() -> None:
    assert Settings() == DEFAULTS
    assert {name for name in (item.name for item in fields(Settings)) if getattr(DEFAULTS, name)} == {
        "timeout",
        "progress",
    }
    assert DEFAULTS.progress is silent


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("seeds", 0, "a whole number of at least 1"),
        ("seeds", True, "a whole number of at least 1"),
        ("until_error", float("inf"), "a number of Å above 0"),
        ("until_error", False, "a number of Å above 0"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_the_value(name: str, value: object, wanted: str) -> None:
    with pytest.raises(AssayError) as caught:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert str(caught.value) == f"the setting '{name}' cannot be '{value}'; give {wanted}"
