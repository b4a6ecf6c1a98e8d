"""A setting from a file has the type of its field, or it is refused."""

from __future__ import annotations

import pytest
from assay.setting_types import has_type


@pytest.mark.parametrize(
    ("value", "annotation", "fits"),
    [
        (3, "int", True),
        (3, "float", True),
        (3.0, "int", False),
        (True, "int", False),
        (True, "bool", True),
        (None, "float | None", True),
        (None, "float", False),
        ("x", "str", True),
        ("x", "int | None", False),
        ((1.0, 2), "tuple[float, ...]", True),
        ((1.0, "x"), "tuple[float, ...]", False),
        (([1, "a"], [2, "b"]), "tuple[tuple[int, str], ...]", True),
        ({}, "tuple[int, ...]", False),
        ({}, "Mapping", True),
    ],
)
def test_types(value: object, annotation: str, fits: bool) -> None:
    assert has_type(value, annotation) is fits
