"""Writes the structures of the checks as extended XYZ files, so that another program can compute the same ones."""

from __future__ import annotations

from pathlib import Path

from assay.api import surveyed
from assay.errors import AssayError
from assay.settings import Settings
from assay.structure import Structure
from assay.survey import Survey


def write_configurations(model: str, settings: Settings, output: Path, folder: Path) -> int:
    """Write `config-<species>-<periodic directions>.xyz` for every cluster and crystal; returns their number."""
    from ase.io import write

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssayError(f"the folder '{folder}' cannot be made ({error.strerror}); give another one") from error
    count = 0
    for label, structure in _structures(surveyed(model, output, settings)):
        atoms = structure.to_atoms()
        write(folder / f"config-{label}-{structure.pattern}.xyz", atoms, format="extxyz", write_results=False)
        count += 1
    return count


def _structures(survey: Survey) -> list[tuple[str, Structure]]:
    crystals = [item for pattern in survey.periodic_patterns for item in survey.crystals(pattern)]
    return [*survey.clusters(), *crystals]
