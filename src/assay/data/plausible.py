"""Whether data of the user's can be in the units that it says it is in; a wrong unit would spoil every number after."""

from __future__ import annotations

from dataclasses import replace

from assay.data.dataset import DataSet
from assay.data.lint import lint
from assay.errors import AssayError

SAMPLE = 100
"""So many records, evenly spread, are looked at; a wrong unit shows in any of them."""

FEW = 0.25
"""A smaller part of doubtful records than this is a fault of theirs and not of the unit."""

UNUSUAL = "unusual"
"""A record whose table in `data.toml` has `unusual = true` is not judged: its author has looked."""


def plausible(data: DataSet, where: str, strict: bool) -> DataSet:
    """The data set with remarks about what looks odd; an error if its units cannot be right.

    Args:
        data: what was read.
        where: the folder or file, for the error.
        strict: one doubtful record is an error; else a few of them are left out, with a remark.
    """
    judged = [record for record in data.records if not record.info.get(UNUSUAL)]
    chosen = judged[:: -(-len(judged) // SAMPLE)] if judged else []
    findings = lint(replace(data, records=tuple(chosen)))
    doubts = [finding for finding in findings if _about_units(finding)]
    others = [finding for finding in findings if not _about_units(finding)]
    named = {r.id for r in chosen if any(doubt.startswith(f"record '{r.id}' ") for doubt in doubts)}
    whole = len(doubts) > 0 and not all(doubt.startswith("record ") for doubt in doubts)
    if doubts and (strict or whole or len(named) >= FEW * len(chosen)):
        raise AssayError(f"the data in '{where}' cannot be in {data.card.units}: {doubts[0]}")
    kept = tuple(record for record in data.records if record.id not in named)
    remarks = (*(f"{doubt}; it is left out" for doubt in doubts), *others)
    return replace(data, records=kept, remarks=(*data.remarks, *remarks))


def _about_units(finding: str) -> bool:
    """Findings that question the unit end in a question, or name the unit that seems to be meant."""
    return finding.endswith("?") or " read as " in finding
