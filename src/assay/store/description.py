"""The description of a model as it is stored, with the types that reports rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TEXT_LENGTH = 10_000
"""Most characters of a text."""

Test = Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= TEXT_LENGTH


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


_MODEL: dict[str, Test] = {"name": _is_name, "fingerprint": _is_text, "survey": _is_table}
_SURVEY: dict[str, Test] = {
    **dict.fromkeys(("answered", "checked", "pbc", "remarks"), _are_texts),
    **dict.fromkeys(("refused", "invalid", "lost"), _is_table_of_texts),
    **dict.fromkeys(("noise_energy_eV", "noise_force_eV_per_A"), _is_number),
    **dict.fromkeys(("seconds_per_call", "seconds_per_batched_call"), _is_number),
    "used": _is_table,
}


def sound_description(read: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The description without the fields that have a wrong type, and the names of these."""
    kept, wrong = _kept(read, _MODEL)
    if "survey" in kept:
        kept["survey"], wrong_there = _kept(kept["survey"], _SURVEY)
        wrong += [f"survey.{name}" for name in wrong_there]
    return kept, wrong


def _kept(read: Mapping[str, Any], tests: Mapping[str, Test]) -> tuple[dict[str, Any], list[str]]:
    wrong = [name for name, test in tests.items() if name in read and not test(read[name])]
    return {name: value for name, value in read.items() if name not in wrong}, wrong
