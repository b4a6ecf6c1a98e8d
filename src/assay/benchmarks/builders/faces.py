"""A crystal with several atoms on the faces of its cell, whose coordinates (Å) no shift by a fraction ½ rounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.configurations import crystal
from assay.structure import Floats, Structure
from assay.survey import Survey

GRID = 2.0**-10
"""Lengths are multiples of this (Å): their sums, differences and halves are exact in double precision."""

SITES = np.array([[0.0, 0.0, 0.0], [0.0, 0.53, 0.46], [0.5, 0.0, 0.55], [0.47, 0.5, 0.0]])
"""Fractions, of which some are exactly 0 and ½; the others keep the forces away from zero."""

START = np.array([0.137, 0.271, 0.389])
"""Where the first atom is, as a fraction, so that no atom is on a face before it is moved there."""


def crystals_on_faces(survey: Survey) -> Iterator[tuple[str, str, Structure]]:
    """One crystal with right angles, of the last subject (the mixture, if there is one), with its kind and label."""
    for pattern in survey.periodic_patterns[:1]:
        usable = [subject for subject in survey.subjects if subject.crystal_factor is not None]
        for subject in usable[-1:]:
            usual = crystal(subject.numbers, subject.crystal_factor or 1.0, pattern)
            edges = _exact(np.linalg.norm(usual.cell, axis=1))
            places = _on_grid(SITES * edges) + _on_grid(START * edges)
            yield f"{pattern}-faces", subject.label, Structure.build(usual.numbers, places, np.diag(edges), pattern)


def _on_grid(lengths: Floats) -> Floats:
    """Rounded to even multiples of the grid, so that halves are on it."""
    return np.asarray(2.0 * GRID * np.rint(lengths / (2.0 * GRID)))


def _exact(edges: Floats) -> Floats:
    """Edges near the given ones for which L · (1/L) is exactly 1: a model that inverts the cell gets fraction 1."""
    return np.array([_first_exact(float(edge)) for edge in _on_grid(edges)])


def _first_exact(edge: float) -> float:
    while edge * (1.0 / edge) != 1.0:
        edge += 2.0 * GRID
    return edge
