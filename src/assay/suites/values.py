"""Values of settings, from files that strangers write: of the type and sign that the benchmark expects, or an error."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any, Union, get_args, get_origin, get_type_hints

from assay.benchmark import Benchmark
from assay.errors import AssayError
from assay.text import shortened

LARGEST = 10**12
"""No setting is larger: it would be a slip of the keyboard, and no computer gets there."""


def checked_values(kind: type[Benchmark], values: Mapping[str, object], where: str) -> dict[str, Any]:
    """The values as the benchmark takes them, lists as tuples; `AssayError` for one of the wrong type or sign.

    The type is that of the field. A number must be above 0 where its default is, as that of steps or lengths.

    Args:
        kind: the benchmark.
        values: values by the names of its fields.
        where: who sets them, for the error ("suite 'mine'").
    """
    for name, value in values.items():
        hint, default = _hint(kind, name), kind.__dataclass_fields__[name].default
        if not _fits(hint, value) or not _has_sign(value, default):
            shown, wanted = shortened(repr(value), 60), _wanted(hint, default)
            raise AssayError(f"{where} sets '{name}' of '{kind.name}' to {shown}, which is not {wanted}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _hint(kind: type[Benchmark], name: str) -> Any:
    """The type of a field; that of its default if the annotation names something that is not imported."""
    try:
        return get_type_hints(kind)[name]
    except (NameError, TypeError):
        return type(kind.__dataclass_fields__[name].default)


def _fits(hint: Any, value: object) -> bool:
    """True if a value has the type of a field; types that no file can hold are left to the benchmark."""
    if get_origin(hint) in (types.UnionType, Union):
        return any(_fits(part, value) for part in get_args(hint))
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return isinstance(value, list | tuple) and len(value) > 0 and all(_fits(inner, item) for item in value)
    if hint is type(None):
        return value is None
    if hint is bool or hint is str:
        return isinstance(value, hint)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST
    if hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and abs(value) <= LARGEST  # type: ignore[arg-type]
    return True


def _has_sign(value: object, default: object) -> bool:
    """True for anything but a number that is 0 or negative where the default is not."""
    numbers = _numbers(value)
    usual = _numbers(default) or [1]
    return all(number > 0 or (number == 0 and min(usual) <= 0) or min(usual) < 0 for number in numbers)


def _numbers(value: object) -> list[float]:
    items: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    return [item for item in items if isinstance(item, int | float) and not isinstance(item, bool)]


def _wanted(hint: Any, default: object) -> str:
    """What a field takes, in words."""
    if get_origin(hint) in (types.UnionType, Union):
        return _wanted(next(part for part in get_args(hint) if part is not type(None)), default)
    if get_origin(hint) is tuple:
        return f"a list, each item {_wanted(get_args(hint)[0], default)}"
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}.get(hint, str(hint))
    above = " above 0" if hint in (int, float) and min(_numbers(default) or [1]) > 0 else ""
    return words + above
