"""Reasons of several cases, grouped by what they are: a reason never speaks for cases that have another one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assay.elements import SYMBOLS
from assay.text import shortened

FEW = 4
"""Up to this number of cases, all of them are named."""

_ANY_SYMBOL = "|".join(sorted(SYMBOLS, key=len, reverse=True))
_SPECIFIC = (
    re.compile(r"'[^']*'"),  # what a message quotes
    re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"),
    re.compile(rf"\b(?!NaN\b)(?:{_ANY_SYMBOL}){{1,6}}(?![A-Za-z])"),  # "Cu", and "CuAu" of a mixture
    re.compile(r"\b[TF]{3}\b|\b[xyz]{1,2}\b"),  # periodic directions and axes
    re.compile(r"#(?:[-–][\w#]+)+"),  # the rest of a label, as in "Cu-cluster"
    re.compile(r"#(?:(?:, | and | or | )#)+"),
    re.compile(r"\ban?(?= #)"),  # "a Cu–Cu distance" and "an Al–Al distance" are of one kind
)
_ELEMENTS = re.compile(rf"the model does not (?:claim|support)((?: (?:{_ANY_SYMBOL}))+)")
_CHARGES = re.compile(r"the model does not (?:claim|support) charges\b.*")


@dataclass(frozen=True)
class Reason:
    """Why one case is as it is: its name, the cause for programs, and the text for people."""

    case: str
    text: str
    cause: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", shortened(self.text))  # stored by an earlier version, or by hand

    @property
    def bare(self) -> str:
        """The text without the name of the case, which stands beside it."""
        return self.text.removeprefix(f"{self.case}: ")


@dataclass(frozen=True)
class Group:
    """Reasons of the same kind. The first stands for the others where their words differ."""

    members: tuple[Reason, ...]

    @property
    def names(self) -> str:
        """The names of the cases: all if they are few, or else the first of them and the number of the others."""
        names = [member.case for member in self.members]
        return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")

    @property
    def reason(self) -> str:
        """The reason, in the words of the first case; it says so where those of the others differ."""
        first = self.members[0]
        if len({member.bare for member in self.members}) == 1:
            return first.bare
        return f"for example {first.text if first.text.startswith(first.case) else f'{first.case}: {first.text}'}"

    @property
    def sentence(self) -> str:
        """Names and reason."""
        return f"{self.names}: {self.reason}"

    @property
    def size(self) -> int:
        """The number of cases."""
        return len(self.members)


def grouped(reasons: Iterable[Reason]) -> list[Group]:
    """Groups of the same cause and the same words, apart from numbers and names, in the order of their first cases."""
    groups: dict[tuple[str, str], list[Reason]] = {}
    for reason in reasons:
        groups.setdefault((reason.cause, _kind(reason)), []).append(reason)
    return [Group(tuple(members)) for members in groups.values()]


def sentences(reasons: Iterable[Reason]) -> str:
    """For example `2 (a, b): not converged after 500 steps; 1 (c): NaN`; a single group needs no number."""
    groups = _largest_first(reasons)
    if len(groups) == 1:
        return groups[0].sentence
    return "; ".join(f"{group.size} ({group.names}): {group.reason}" for group in groups)


def _largest_first(reasons: Iterable[Reason]) -> list[Group]:
    return sorted(grouped(reasons), key=lambda group: -group.size)


def counted(texts: Iterable[str]) -> str:
    """Reasons of structures without names, with their numbers where there is more than one kind."""
    groups = _largest_first(Reason("", text) for text in texts)
    if len(groups) == 1:
        return groups[0].members[0].text
    return "; ".join(f"{group.size} × {group.members[0].text}" for group in groups)


def not_supported(reasons: Iterable[Reason]) -> str:
    """What a model does not support, by kind: `3 ions (a, b, c); 4 with S or F`."""
    parts = []
    for group in _largest_first(reasons):
        names = f" ({group.names})" if group.size <= FEW else ""
        parts.append(f"{group.size}{_about(group, names)}")
    return "; ".join(parts)


def _about(group: Group, names: str) -> str:
    texts = [member.text for member in group.members]
    if all(_CHARGES.fullmatch(text) for text in texts):
        return (" ions" if group.size > 1 else " ion") + names
    found = [_ELEMENTS.fullmatch(text) for text in texts]
    present = {symbol for match in found if match for symbol in match[1].split()}
    if all(found):
        return f" with {_either([s for s in SYMBOLS if s in present])}{names}"
    return f"{names}: {group.reason}"


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _kind(reason: Reason) -> str:
    """The words of a reason without what differs from case to case: numbers, elements, labels, quotations."""
    text = reason.text.replace(reason.case, "#") if len(reason.case) > 2 else reason.text
    for pattern in _SPECIFIC:
        text = pattern.sub("#", text)
    return text
