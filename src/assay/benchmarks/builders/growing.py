"""The same system in growing sizes: ice, a crystal, or a free piece of one."""

from __future__ import annotations

from assay.benchmarks.builders.ice import ice_cell
from assay.configurations import crystal
from assay.structure import Structure
from assay.survey import Survey

COPIES = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (2, 2, 2), (3, 2, 2), (3, 3, 3), (4, 4, 3), (5, 4, 4), (5, 5, 5), (6, 6, 6))
"""Copies of the cell along each direction."""


def growing_systems(survey: Survey, most: int) -> tuple[str, list[Structure]]:
    """The name of a system that the model supports, and its sizes of up to `most` atoms; none if it supports none."""
    name, cell, free = _cell(survey)
    if cell is None:
        return "", []
    sizes = [size for times in COPIES if len(size := cell.repeated(times)) <= most]
    return name, [Structure.build(s.numbers, s.positions) for s in sizes] if free else sizes


def _cell(survey: Survey) -> tuple[str, Structure | None, bool]:
    """The name and the cell of the system, and whether free pieces of it are wanted."""
    free = "TTT" not in survey.pbc
    if {1, 8} <= set(survey.usable):
        return "ice, free" if free else "ice", ice_cell(), free
    if crystals := survey.crystals("TTT"):
        return f"{crystals[0][0]} crystal", crystals[0][1].repeated((2, 2, 1)), False
    subject = next((s for s in survey.subjects if s.cluster_factor is not None), None)
    if subject is None:
        return "", None, free
    cell = crystal(subject.numbers, subject.cluster_factor or 1.0).repeated((2, 2, 1))
    return f"{subject.label} cluster", cell, True
