"""Crystals of elements: cells with a given distance of neighbours, and crystals as they occur in nature."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.benchmarks.builders.ice import ice_cell
from assay.configurations import symbol
from assay.structure import Structure
from assay.survey import Survey

_FCC = ((0.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0))
CUBIC_SITES = {
    "fcc": _FCC,
    "bcc": ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5)),
    "diamond": tuple(tuple(x + shift for x in site) for site in _FCC for shift in (0.0, 0.25)),
}
"""Atoms of a cubic cell, in its edges."""

OUT_OF_PLACE = 0.2
"""How far (Å) a displaced atom is from its site."""


def lattice(number: int, kind: str, distance: float) -> Structure:
    """A primitive cell, or the cluster of an atom and its twelve neighbours, with a nearest-neighbour distance (Å).

    `kind` is "fcc", "diamond" or "cuboctahedron".
    """
    faces = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]) / 2.0**0.5
    if kind == "fcc":
        return Structure.build([number], [[0.0, 0.0, 0.0]], distance * faces, "TTT")
    if kind == "diamond":
        edge = distance * 2.0 * (2.0 / 3.0) ** 0.5
        return Structure.build([number] * 2, [np.zeros(3), np.full(3, distance / 3.0**0.5)], edge * faces, "TTT")
    shell = [np.roll([0.0, a, b], k) for k in range(3) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    return Structure.build([number] * 13, distance / 2.0**0.5 * np.array([np.zeros(3), *shell]))


def displaced_atom(body: Structure) -> Structure:
    """The structure with its first atom out of its site; a single atom gets its next image for a partner first."""
    partners = body.repeated((2, 1, 1)) if len(body) == 1 else body
    shift = np.zeros((len(partners), 3))
    shift[0] = OUT_OF_PLACE * np.array([0.36, 0.48, 0.80])
    return partners.moved(partners.positions + shift)


def usual_crystal(survey: Survey, species: set[int]) -> list[tuple[str, Structure]]:
    """Ice, or a crystal of the first of some elements that has a cubic one; none for models of free systems only."""
    if "TTT" not in survey.pbc:
        return []
    if {1, 8} <= species:
        return [("ice", ice_cell())]
    return [(f"{symbol(z)} crystal", _cubic_crystal(z)) for z in sorted(species) if _is_cubic(z)][:1]


def _is_cubic(number: int) -> bool:
    """True for elements that crystallise in a cubic lattice that ASE knows."""
    from ase.data import reference_states

    state = reference_states[number] if number < len(reference_states) else None
    return state is not None and state.get("symmetry") in ("fcc", "bcc", "diamond")


def _cubic_crystal(number: int) -> Structure:
    """2 × 2 × 2 cubic cells of an element."""
    from ase.data import reference_states

    state: dict[str, Any] = reference_states[number]  # type: ignore[assignment]
    edge, sites = float(state["a"]), CUBIC_SITES[state["symmetry"]]
    cell = Structure.build([number] * len(sites), edge * np.array(sites), edge * np.eye(3), "TTT")
    return cell.repeated((2, 2, 2))
