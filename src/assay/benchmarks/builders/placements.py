"""A molecule and the places of far atoms around it, shipped as data_generation/locality_placements.py made them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from assay.configurations import symbol
from assay.reasons import counted
from assay.structure import Floats, Structure
from assay.survey import Survey, touching

CUBE = 60.0
"""Edge (Å) of the periodic cube with ghost atoms: only its corners are 40 Å away from a molecule in its middle."""

LARGE_CUBE = 140.0
"""Edge (Å) of the cube for one far atom, where the nearest image of an atom up to 50 Å away is the atom itself."""

CONTACT = (1.0, 1.25, 1.6)
"""Distances at which a far atom must be felt, in touching distances."""

NOBLE = (10, 18, 2, 36, 54)
"""Species that replace a missing one, the most similar to neon first; then H, then any species of the model."""


@dataclass(frozen=True, eq=False)
class Placements:
    """Positions in Å relative to the mean of acetone's atoms."""

    numbers: NDArray[np.int64]
    acetone: Floats
    shells: Floats
    hydrogens: Floats


@cache
def placements() -> Placements:
    """The shipped coordinates: acetone, five shells of 20 ghost atoms, 30 places of one hydrogen."""
    text = resources.files("assay").joinpath("data/locality/placements.json").read_text(encoding="utf-8")
    data = json.loads(text)
    acetone = data["acetone"]
    arrays = (np.array(rows, dtype=float) for rows in (acetone["positions"], data["shells"], data["hydrogens"]))
    return Placements(np.array(acetone["numbers"], dtype=np.int64), *arrays)


@dataclass(frozen=True, eq=False)
class Scene:
    """A molecule around the origin (Å), in the open or in the middle of a cube with the periodic directions `pattern`.

    Models that support spin (`spin`) get charge 0 and the lowest multiplicity that the electrons allow.
    """

    name: str
    numbers: NDArray[np.int64]
    positions: Floats
    pattern: str
    edge: float
    spin: bool

    def alone(self) -> Structure:
        """The molecule."""
        return self._place(self.numbers, self.positions)

    def others(self, probe: int, sites: Floats) -> Structure:
        """Far atoms without the molecule."""
        return self._place(np.full(len(sites), probe, dtype=np.int64), sites)

    def both(self, probe: int, sites: Floats) -> Structure:
        """The molecule first, then the far atoms."""
        numbers = np.concatenate([self.numbers, np.full(len(sites), probe, dtype=np.int64)])
        return self._place(numbers, np.concatenate([self.positions, sites]))

    def _place(self, numbers: NDArray[np.int64], positions: Floats) -> Structure:
        cell = self.edge * np.eye(3) if "T" in self.pattern else np.zeros((3, 3))
        x, y, z = (letter == "T" for letter in self.pattern)
        electrons = {"charge": 0, "spin": 1 + int(numbers.sum()) % 2} if self.spin else {}
        return Structure(numbers, positions + 0.5 * np.diag(cell), cell, (x, y, z), **electrons)

    def ray(self, distance: float) -> Floats:
        """A site at a distance (Å) from the outermost atom, straight outwards, so that no other atom is nearer."""
        outer = self.positions[self.outermost]
        return (outer + distance * outer / np.linalg.norm(outer)).reshape(1, 3)

    def stand_ins(self, probes: Mapping[int, int]) -> str:
        """What stands in for what, from the species that are meant to those that are used; empty for acetone itself."""
        parts = [f"{self.name} in place of acetone"] if self.name != "acetone" else []
        parts += [f"{symbol(used)} in place of {symbol(meant)}" for meant, used in probes.items() if used != meant]
        return ", ".join(parts)

    def contact(self, probe: int, survey: Survey) -> float:
        """The distance (Å) at which a probe touches the outermost atom."""
        return touching(int(self.numbers[self.outermost]), probe, survey)

    @property
    def outermost(self) -> int:
        """Index of the atom farthest from the centre."""
        return int(np.argmax(np.linalg.norm(self.positions, axis=1)))

    def nearest(self, sites: Floats) -> float:
        """Shortest distance (Å) from the molecule to any of the sites, by minimum image in periodic directions."""
        gaps = self.positions[:, None, :] - sites[None]
        periodic = np.array([letter == "T" for letter in self.pattern])
        return float(np.linalg.norm(gaps - self.edge * np.rint(gaps / self.edge) * periodic, axis=2).min())


def molecule_scene(survey: Survey, patterns: Sequence[str], edge: float) -> Scene | str:
    """Acetone, or for other species the cluster of all of them; where the model has neither, the reason.

    `patterns` are tried in this order, then those that the model supports.
    """
    pattern = next((p for p in (*patterns, *survey.pbc) if p in survey.pbc), "FFF")
    shipped, spin = placements(), bool(survey.card.spin)
    if {1, 6, 8} <= set(survey.usable):
        return Scene("acetone", shipped.numbers, shipped.acetone, pattern, edge, spin)
    clusters = dict(survey.clusters())
    mixed = [s.label for s in survey.subjects if len(s.numbers) > 1 and s.label in clusters]
    for label in (*mixed, *clusters):
        body = clusters[label]
        centred = body.positions - body.positions.mean(axis=0)
        return Scene(f"{label} cluster", body.numbers, centred, pattern, edge, spin)
    return counted(s.reason for s in survey.subjects if s.reason) or "the model answered for no element"


def stand_in(survey: Survey, wanted: int) -> int:
    """The species itself if the model has it, else a noble gas, else H, else the first one it has."""
    have = survey.usable
    return next(z for z in (wanted, *NOBLE, 1, *have) if z in have)


def far_structures(scene: Scene, probe: int, far: Sequence[Floats], survey: Survey) -> dict[str, tuple[Structure, ...]]:
    """The molecule alone, with far atoms (`both`), and with one of them in contact (`near`); the far atoms (`rest`).

    `far` are arrangements of sites (Å); where all have one atom, the far atom alone is one structure. `near` begins
    with one far atom, for comparison.
    """
    apart, contact = far if len(far[0]) > 1 else far[:1], scene.contact(probe, survey)
    close = [scene.both(probe, scene.ray(factor * contact)) for factor in CONTACT]
    return {
        "alone": (scene.alone(),),
        "near": (scene.both(probe, far[0][:1]), *close),
        "both": tuple(scene.both(probe, sites) for sites in far),
        "rest": tuple(scene.others(probe, sites) for sites in apart),
    }
