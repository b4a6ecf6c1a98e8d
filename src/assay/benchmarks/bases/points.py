"""Why the answers to some structures cannot be judged: refused, or without any physics in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.outcome import Point
from assay.reasons import counted

SILENT_ENERGY = 1e-6
"""Energies (eV) of different structures that differ by less are the same."""

ANSWERED = 0.9
"""The share of the points of a curve that a model must answer for the curve to be judged."""

SILENT_FORCE = 1e-10
"""Forces (eV/Å) below this are none; at its own minima a sound model has small forces, not none."""


def first_refusal(points: Sequence[Point]) -> str:
    """The reason of the first point without an answer; empty if all have one."""
    return next((point.reason for point in points if not point.ok), "")


def refusals(points: Sequence[Point]) -> str:
    """How many structures have no answer, and why; empty if all have one."""
    reasons = [point.reason for point in points if not point.ok]
    return f"{len(reasons)} of {len(points)} structures without an answer: {counted(reasons)}" if reasons else ""


def too_few(points: Sequence[Point]) -> str:
    """Why a curve cannot be judged: more than a tenth of its points have no answer. Empty if it can."""
    answered = sum(point.ok for point in points)
    return "" if answered >= ANSWERED * len(points) else refusals(points)


def silence(points: Sequence[Point]) -> str:
    """Why answers prove nothing, however well they fit: the energy or the forces never change. Empty if they do."""
    if not points:
        return ""
    if np.ptp([point.energy for point in points]) < SILENT_ENERGY:
        return f"the energy is the same for all {len(points)} structures"
    if max(float(np.abs(point.forces).max()) for point in points) < SILENT_FORCE:
        return f"there are no forces in any of {len(points)} structures"
    return ""
