"""Pairs of structures that differ in one thing only, and structures that a model should refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.configurations import dimer
from assay.structure import Structure
from assay.survey import Survey

WIDE = 1.6
"""A cell that is longer by this factor loses most images of an atom beyond the usual cutoffs."""

Pair = tuple[str, Structure, Structure]


def single_changes(survey: Survey) -> list[Pair]:
    """Pairs with equal positions and one change, of the first species and of the mixture, each at other positions."""
    found: list[Pair] = []
    kinds = dict.fromkeys([0, len(survey.subjects) - 1]) if survey.subjects else {}
    for place in kinds:
        label = survey.subjects[place].label
        found += [(f"{label}: {words}", a, b) for words, a, b in _of_subject(survey, label)]
    return found


def _of_subject(survey: Survey, label: str) -> Iterator[Pair]:
    crystals = [
        structure for variant in range(4) for name, structure in survey.crystals("TTT", variant) if name == label
    ]
    if crystals:
        strained, wide, open_one, other = crystals
        shape = np.eye(3) + 0.03 * np.array([[1.0, 0.4, 0.0], [0.0, -0.7, 0.3], [0.2, 0.0, 0.5]])
        yield "only the cell is strained", strained, replace(strained, cell=strained.cell @ shape)
        yield "only the cell shrinks", replace(wide, cell=WIDE * wide.cell), wide
        if "TTF" in survey.pbc:
            yield "only the periodic directions change", replace(open_one, pbc=(True, True, False)), open_one
        yield from _other_elements(survey, other)
    for name, structure in survey.clusters(variant=1):
        if name == label:
            yield from _other_elements(survey, structure)


def _other_elements(survey: Survey, structure: Structure) -> Iterator[Pair]:
    """The structure and the same places with other elements: those of the mixture rotated, else another species."""
    numbers = np.roll(structure.numbers, 1)
    if (numbers == structure.numbers).all():
        singles = [s.numbers[0] for s in survey.subjects if len(s.numbers) == 1 and s.cluster_factor is not None]
        others = sorted({z for z in singles if z != structure.numbers[0]}, key=lambda z: abs(z - structure.numbers[0]))
        numbers = np.full(len(structure), others[0]) if others else numbers
    if (numbers != structure.numbers).any():
        kind = "crystal" if all(structure.pbc) and len(structure) == 4 else "cluster"
        yield f"only the elements of the {kind} change", replace(structure, numbers=numbers), structure


def refused_structures(survey: Survey, count: int) -> list[Structure]:
    """Structures that should make the model refuse: elements that it refused before, else two atoms in one place."""
    found = []
    for number in [*list(survey.refused)[:2], *list(survey.invalid)[:2], *survey.refused_alone[:2]]:
        rows = np.arange(count)[:, None] * dimer(number, number).positions[1]
        found.append(Structure.build([number] * count, rows))
    if not found and survey.answered:
        number = survey.subjects[0].numbers[0]
        found.append(Structure.build([number, number], np.zeros((2, 3))))
    return [survey.placed(s) for s in found]
