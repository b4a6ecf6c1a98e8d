"""Pairs of slabs or molecules far apart, for the benchmark of extensivity. Lengths in Å."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.benchmarks.builders.placements import molecule_scene
from assay.configurations import symbol
from assay.structure import Floats, Structure
from assay.survey import USUAL_FACTORS, Survey, touching

METALS = (13, 20, 28, 29, 38, 45, 46, 47, 70, 77, 78, 79, 82, 90)
"""Metals that are face-centred cubic under normal conditions."""

MISMATCH = 0.05
"""Pairs whose spacings differ by more than this fraction are used only if there is no better pair."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Two bodies in one cell, or in the open, with `gap` of vacuum between them."""

    label: str
    first: Structure
    second: Structure
    gap: float
    said: str = ""

    def both(self) -> Structure:
        """The two together, in the places and in the cell that they have alone."""
        numbers = np.concatenate([self.first.numbers, self.second.numbers])
        return replace(
            self.first, numbers=numbers, positions=np.concatenate([self.first.positions, self.second.positions])
        )


def slab_pairs(survey: Survey, gaps: Sequence[float], size: int, layers: int) -> list[Parts]:
    """As many pairs of slabs as there are gaps: the best matching species at the first gap, else the best pair again.

    Metals come first; models with fewer than two get slabs of any two species, or of the same one twice.
    """
    have = survey.usable
    metals = [z for z in have if z in METALS]
    chosen = metals if len(metals) > 1 else have
    spacing = {z: _spacing(z, survey) for z in chosen}
    pairs = list(combinations(chosen, 2)) or [(z, z) for z in chosen]
    pairs.sort(key=lambda pair: _mismatch(*(spacing[z] for z in pair)))
    if not pairs:
        return []
    fitting = pairs[:1] + [p for p in pairs[1 : len(gaps)] if _mismatch(*(spacing[z] for z in p)) <= MISMATCH]
    plan = [(pair, gaps[0]) for pair in fitting]
    plan += [(fitting[0], gap) for gap in gaps[1 : 1 + len(gaps) - len(plan)]]
    pattern = "TTT" if "TTT" in survey.pbc else "TTF"
    said = "" if len(metals) > 1 else f"slabs of {'-'.join(map(symbol, fitting[0]))} instead of two metals"
    return [_slabs(pair, spacing, gap, size, layers, pattern, said) for pair, gap in plan]


def _mismatch(a: float, b: float) -> float:
    return abs(a - b) / max(a, b)


def _spacing(number: int, survey: Survey) -> float:
    """Nearest-neighbour distance of the species: that of its crystal if it is close-packed, else where atoms touch."""
    from ase.data import reference_states

    factor = next((s.cluster_factor for s in survey.subjects if s.numbers == (number,)), None) or 1.0
    known = reference_states[number] if number < len(reference_states) else None
    if known and known["symmetry"] == "fcc" and (USUAL_FACTORS[0] < factor < USUAL_FACTORS[1] or number not in METALS):
        return float(str(known["a"])) / 2.0**0.5
    return touching(number, number, survey)


def _slabs(
    pair: tuple[int, int], spacing: dict[int, float], gap: float, size: int, layers: int, pattern: str, said: str
) -> Parts:
    """Two close-packed (111) slabs on the in-plane lattice of the first, on which the second is strained."""
    edge, heights = spacing[pair[0]], [spacing[z] * (2.0 / 3.0) ** 0.5 for z in pair]
    thick = [(layers - 1) * height for height in heights]
    cell = np.diag([size * edge, 0.5 * 3.0**0.5 * size * edge, sum(thick) + 2.0 * gap])
    cell[1, 0] = 0.5 * size * edge
    starts = (0.5 * gap, 1.5 * gap + thick[0])
    bodies = [
        Structure.build([z] * (size * size * layers), _close_packed(edge, height, size, layers, start), cell, pattern)
        for z, height, start in zip(pair, heights, starts, strict=True)
    ]
    return Parts("-".join(symbol(z) for z in pair), bodies[0], bodies[1], gap, said)


def _close_packed(edge: float, height: float, size: int, layers: int, start: float) -> Floats:
    """Layers of triangles, stacked ABC."""
    steps = np.array([[edge, 0.0], [0.5 * edge, 0.5 * 3.0**0.5 * edge]])
    places = np.array([(i, j) for i in range(size) for j in range(size)]) @ steps
    flat = [places + (k % 3) / 3.0 * steps.sum(axis=0) for k in range(layers)]
    return np.array([(x, y, start + k * height) for k in range(layers) for x, y in flat[k]])


def molecule_pairs(survey: Survey, gaps: Sequence[float]) -> list[Parts]:
    """Two bodies in the open at each gap: clusters of two species, or acetone and acetone stretched by 5 %.

    Closed shells where the model has them: radicals far apart test the electronic method, not the sum.
    """
    scene = molecule_scene(survey, ("FFF",), 0.0)
    if isinstance(scene, str):
        return []
    first = scene.alone()
    if scene.name == "acetone":
        other, name = first.transformed(1.05 * np.eye(3)), "stretched-acetone"
    else:
        name, other = survey.clusters()[0]
    return [_apart(f"{scene.name.partition(' ')[0]}-{name}", first, other, gap) for gap in gaps]


def _apart(label: str, first: Structure, second: Structure, gap: float) -> Parts:
    """The second body shifted along x until the nearest planes of atoms are `gap` apart."""
    shift = first.positions[:, 0].max() - second.positions[:, 0].min() + gap
    moved = second.moved(second.positions + np.array([shift, 0.0, 0.0]))
    return Parts(label, first, moved, gap, f"{label} in place of slabs")


def copies(survey: Survey, times: int, gap: float) -> tuple[str, Structure, Structure] | str:
    """Acetone or the cluster of all species, and times³ of it on a cubic grid with `gap` between them.

    Both are in the open or, for models that support only periodic systems, in the same cube. Without them, the reason.
    """
    scene = molecule_scene(survey, ("FFF", "TTT"), 0.0)
    if isinstance(scene, str):
        return scene
    step = float(np.ptp(scene.positions, axis=0).max()) + gap
    one = replace(scene, edge=times * step).alone()
    grid = step * np.array([(i, j, k) for i in range(times) for j in range(times) for k in range(times)])
    grid = grid - grid.mean(axis=0)
    many = (one.positions[None] + grid[:, None, :]).reshape(-1, 3)
    return scene.name, one, replace(one, numbers=np.tile(one.numbers, times**3), positions=many)
