"""The kinds of reference data as a Markdown table."""

from __future__ import annotations

from assay.data.kinds import KINDS, Kind


def kind_table() -> str:
    """One row for each kind: its name, what a record is, and the meaning of its energies."""
    rows = [f"| `{kind.name}` | {_record(kind)} | {kind.energies} |\n" for kind in KINDS.values()]
    return "| kind | a record is | energies |\n|---|---|---|\n" + "".join(rows)


def _record(kind: Kind) -> str:
    return f"{kind.what}; records of `{kind.part_of}` with this mark are used, too" if kind.part_of else kind.what
