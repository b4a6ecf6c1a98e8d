"""A sha256 of records, for data sets that are part of another package and have no file of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from assay.data.dataset import Record


def content_sha256(records: Iterable[Record]) -> str:
    """A sha256 of names, atoms, positions (rounded to 1e-6 Å) and energies (to 1e-9 eV), independent of any file."""
    digest = hashlib.sha256()
    for record in records:
        energies = [f"{energy:.9f}" for energy in record.energies or ()]
        digest.update(f"{record.id}|{record.roles}|{record.coordinates}|{energies}|".encode())
        for structure in record.structures:
            positions = [f"{value:.6f}" for value in structure.positions.ravel() + 0.0]
            digest.update(f"{structure.numbers.tolist()}|{structure.charge}|{structure.spin}|{positions}|".encode())
    return digest.hexdigest()
