"""Results of earlier versions, brought into today's form: causes that older stores have only as words.

Only the fixed phrases of versions that wrote no causes are read here; nothing else decides by words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assay.errors import Cause

_WORDS_OF_UNSUPPORTED = {
    Cause.ELEMENTS: re.compile(r"the model does not (claim|support)( [A-Z][a-z]?)+"),
    Cause.CHARGE: re.compile(r"the model (does not support charges|takes no charge).*"),
    Cause.NO_DATA: re.compile(r"there is no data of kind .*"),
}
_NUMBERS = ("nan", "inf", "finite")
_RUN_ENDS = {
    "not finite": Cause.NOT_FINITE,
    "exploded": Cause.EXPLODED,
    "lost": Cause.ATOM_LOST,
    "collapsed": Cause.COLLAPSED,
}


def cause_of_words(reason: str) -> Cause:
    """The cause behind a reason as versions before causes wrote it; none for an empty reason."""
    if not reason:
        return Cause.NONE
    start = reason.partition(":")[0]
    if start in _RUN_ENDS:
        return _RUN_ENDS[start]
    if reason.startswith("returned"):
        return Cause.NOT_FINITE if any(word in reason for word in _NUMBERS) else Cause.MALFORMED
    return Cause.REFUSED


def with_causes(line: dict[str, Any]) -> dict[str, Any]:
    """An outcome of the store with causes; one that has them already stays as it is."""
    if not isinstance(line, dict) or not isinstance(line.get("values", {}), dict):
        raise TypeError("not an outcome")
    if "cause" in line:
        return line
    values = dict(line.get("values", {}))
    reasons = values.get("reasons")
    if isinstance(reasons, Mapping):
        values["causes"] = {place: cause_of_words(str(reason)) for place, reason in reasons.items()}
    if isinstance(values.get("stopped"), str):
        values["stopped_cause"] = cause_of_words(values["stopped"])
    if isinstance(values.get("rows"), list):
        values["rows"] = [_row(row) for row in values["rows"]]
    failed = line.get("status") == "failed"
    return {**line, "values": values, "cause": cause_of_words(str(line.get("reason", ""))) if failed else Cause.NONE}


def _row(row: object) -> object:
    if not isinstance(row, Mapping) or not isinstance(row.get("reason"), str):
        return row
    return {**row, "cause": cause_of_words(row["reason"])}


def case_row(row: dict[str, Any]) -> dict[str, Any]:
    """A stored case; versions before causes kept `lost` and `failure` in its context."""
    if "failure" in row or not isinstance(row.get("context"), Mapping):
        return _with_unsupported_cause(row)
    context = dict(row["context"])
    lost, failure = (str(context.pop(name, "")) for name in ("lost", "failure"))
    earlier = {**row, "context": context, "lost": lost, "failure": failure, "cause": cause_of_words(failure)}
    return _with_unsupported_cause(earlier)


def _with_unsupported_cause(row: dict[str, Any]) -> dict[str, Any]:
    """A stored case with the reason why it is not supported as a cause; earlier versions wrote only the words."""
    if row.get("cause") or not row.get("unsupported"):
        return row
    words = str(row["unsupported"])
    cause = next((cause for cause, known in _WORDS_OF_UNSUPPORTED.items() if known.fullmatch(words)), Cause.NONE)
    return {**row, "cause": cause}
