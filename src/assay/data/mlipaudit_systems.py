"""The systems of MLIPAudit's stability benchmark: XYZ files with fixed names, with their charges and boxes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.data.dataset import Card, DataSet, Record
from assay.data.kinds import find_kind
from assay.data.xyz import read_frames
from assay.errors import AssayError


class System(NamedTuple):
    """The system in a file, with its charge (e), and with the edges of its box (Å) if it is periodic."""

    what: str
    charge: int = 0
    box: tuple[float, float, float] | None = None


SYSTEMS: Mapping[str, System] = {
    "small_molecule_HCNO.xyz": System("small molecule of H, C, N and O"),
    "small_molecule_S.xyz": System("small molecule with sulfur"),
    "small_molecule_Hal.xyz": System("small molecule with halogens"),
    "peptide_HCNO.xyz": System("neurotensin in vacuum", 1),
    "peptide_cys.xyz": System("oxytocin in vacuum"),
    "protein_1a7m.xyz": System("protein 1A7M in vacuum", 7),
    "peptide_solv.xyz": System("oxytocin in water", 0, (23.43, 28.96, 20.90)),
    "peptide_solv_ion.xyz": System("neurotensin in water with ions", 0, (25.62, 27.89, 37.36)),
}
"""File names of MLIPAudit 0.1.8; charges and boxes are those in its code."""


def read_systems(files: Mapping[str, Callable[[], bytes]], where: str, lane: str) -> list[DataSet]:
    """One data set of all these files; of two files with one name, that in the folder `stability` is read."""
    chosen: dict[str, str] = {}
    for path in sorted(files, key=lambda path: "stability" not in Path(path).parts):
        if Path(path).name in SYSTEMS:
            chosen.setdefault(Path(path).name, path)
    contents = {name: files[chosen[name]]() for name in SYSTEMS if name in chosen}
    if not contents:
        return []
    records = tuple(_record(name, text, f"'{where}/{chosen[name]}'") for name, text in contents.items())
    digest, size = hashlib.sha256(b"".join(contents.values())).hexdigest(), len(records)
    card = Card(
        "stability", "stability", "molecules, proteins and solutions of MLIPAudit's stability benchmark",
        "no reference; charges are estimates", "terms of the original data; the packing states none",
        "MLIPAudit; Protein Data Bank 1A7M", where, lane, "Å", digest, f"{size} records, {size} structures",
    )  # fmt: skip
    return [DataSet(card, records)]


def _record(name: str, content: bytes, where: str) -> Record:
    try:
        frames = list(read_frames(content.decode("utf-8"), where))
    except UnicodeDecodeError as error:
        raise AssayError(f"{where} is not UTF-8 text (byte {error.start}); download the file again") from error
    if len(frames) != 1:
        raise AssayError(f"{where} has {len(frames)} structures instead of one; download the file again")
    system, structure = SYSTEMS[name], frames[0].structure
    if system.box is not None:
        structure = replace(structure, cell=np.diag(system.box), pbc=(True, True, True))
    record = Record(
        Path(name).stem, (replace(structure, charge=system.charge, spin=1),), info={"description": system.what}
    )
    if reason := find_kind("stability").complaint(record):
        raise AssayError(f"{where} {reason}")
    return record
