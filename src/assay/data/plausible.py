"""What is left out of data, and whether it can be in the units that it states; with a wrong unit all would be wrong."""

from __future__ import annotations

from dataclasses import replace

from assay.data.dataset import DataSet
from assay.data.lint import defects, lint
from assay.errors import AssayError

SAMPLE = 100
"""At most this number of records, evenly spread, is checked; a wrong unit shows in any of them."""

FEW = 0.25
"""If fewer than this fraction of the records seem to have a wrong unit, the records are wrong and not the unit."""

UNUSUAL = "unusual"
"""A record with `unusual = true` in `data.toml` is not checked: its author vouches for it."""


def without_defects(data: DataSet) -> DataSet:
    """The data set without records that cannot judge any model, such as two isomers that are the same; with remarks."""
    judged = tuple(record for record in data.records if not record.info.get(UNUSUAL))
    found = {finding.record: f"{finding}; it is left out" for finding in defects(replace(data, records=judged))}
    if not found:
        return data
    kept = tuple(record for record in data.records if record.id not in found)
    if not kept:
        raise AssayError(f"'{data.card.name}' has no record that can judge a model: {next(iter(found.values()))}")
    return replace(data, records=kept, remarks=(*data.remarks, *found.values()))


def plausible(data: DataSet, where: str, strict: bool) -> DataSet:
    """The data set with remarks about what looks wrong; an error if its units cannot be right.

    Args:
        data: the data set as it was read.
        where: the folder or file, for the error.
        strict: if true, a single record with an implausible unit is an error; if false, a few such records are left
            out with a remark.
    """
    data = without_defects(data)
    judged = [record for record in data.records if not record.info.get(UNUSUAL)]
    sample = judged[:: -(-len(judged) // SAMPLE)] if judged else []
    findings = lint(replace(data, records=tuple(sample)))
    doubts = [finding for finding in findings if finding.unit]
    doubtful = {finding.record for finding in doubts if finding.record}
    whole_set = any(not finding.record for finding in doubts)
    if doubts and (strict or whole_set or len(doubtful) >= FEW * len(sample)):
        raise AssayError(f"the data in '{where}' cannot be in {data.card.units}: {doubts[0]}")
    kept = tuple(record for record in data.records if record.id not in doubtful)
    remarks = (*(f"{doubt}; it is left out" for doubt in doubts), *(str(f) for f in findings if not f.unit))
    return replace(data, records=kept, remarks=(*data.remarks, *remarks))
