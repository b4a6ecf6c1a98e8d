"""Warnings of model packages that adapters silence when they are built; pytest shows them again in every test."""

from __future__ import annotations

import pytest

WARNINGS = ("No PBC detected", "Converting a tensor with requires_grad", "Creating a tensor from a list of numpy")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Silence them in all tests of this folder."""
    item.add_marker(pytest.mark.filterwarnings(*(f"ignore:{words}" for words in WARNINGS)))
