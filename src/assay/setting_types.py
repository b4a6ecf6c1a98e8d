"""Whether a setting that was read from a file has the type that a field of a benchmark names."""

from __future__ import annotations

import re

_TYPES = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,), "None": (type(None),)}


def has_type(value: object, annotation: str) -> bool:
    """True if a value fits to an annotation such as `float | None` or `tuple[str, ...]`.

    Items of tuples may have any of the types that the annotation names; types other than numbers, text, truth values,
    None and tuples of them are not tested.
    """
    return _fits(value, set(re.findall(r"\w+", annotation)))


def _fits(value: object, names: set[str]) -> bool:
    if "tuple" in names and isinstance(value, tuple | list):
        return all(_fits(item, names) for item in value)
    known = names & _TYPES.keys()
    return not known or any(type(value) in _TYPES[name] for name in known)
