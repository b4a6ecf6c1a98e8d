"""Is a change noticed if only the cell, only the periodic directions or only the elements change?

A neighbour list or a cache that looks at positions alone keeps the answer of the structure before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from assay.compute.engines.blame import failure_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import evaluate_fully
from assay.compute.probes._deviation import Deviation, deviation, sizes, worst
from assay.compute.probes.repeats import public_point
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from ase.calculators.calculator import Calculator

Pair = tuple[Structure, Structure]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV), forces (eV/Å) and stress (eV/Å³) after each change, with their sizes.

    The structures are pairs, before and after a change; the last one has other atoms and is evaluated between pairs.
    One calculator sees the pair in this order and another one in reverse, so that at most one of them has seen the
    first structure when it evaluates the second. The same is done with one `Atoms` object and ASE's public methods.
    """
    *members, other = probe.structures
    pairs = [(members[i], members[i + 1]) for i in range(0, len(members), 2)]
    calculators = [engine.calculator, engine.model.build()]
    rows, last = [], ModelFailure("no structures")
    for index, pair in enumerate(pairs):
        try:
            rows.append((index, *_trial(engine, calculators, pair, other)))
        except ModelFailure as failure:
            last = failure
    if not rows:
        raise ModelFailure(f"the model refused all {len(pairs)} pairs: {last}", last.cause)
    after = [points[1] for _, points, _, _ in rows]
    found = [
        worst(*(deviation([a], [b]) for a, b in zip(one, other_way, strict=True))) for _, one, other_way, _ in rows
    ]
    return {
        "indices": [index for index, _, _, _ in rows],
        **sizes(after),
        "tests": {
            "calculate": Deviation(*np.concatenate(found, axis=1)).as_dict(),
            "public_methods": deviation(after, [point for _, _, _, point in rows]).as_dict(),
        },
    }


def _trial(
    engine: CalculatorEngine, calculators: Sequence[Calculator], pair: Pair, other: Structure
) -> tuple[list[Point], list[Point], Point]:
    """Both points of a pair evaluated backwards, the same forwards, and the second through ASE's public methods."""
    first, second = calculators
    for calculator in calculators:
        _distract(calculator, other)
    backwards = [evaluate_fully(second, structure) for structure in pair[::-1]][::-1]
    forwards = [engine.evaluate_fully(structure) for structure in pair]
    _distract(first, other)
    return backwards, forwards, _publicly(first, pair, backwards[1].stress is not None)


def _distract(calculator: Calculator, other: Structure) -> None:
    """Evaluate another structure, so that nothing is left of the last pair; a refusal does that, too."""
    with suppress(ModelFailure):
        evaluate_fully(calculator, other)


def _publicly(calculator: Calculator, pair: Pair, stress: bool) -> Point:
    """The second structure of a pair, after the first with the same `Atoms` object."""
    before, after = pair
    atoms = before.to_atoms()
    try:
        atoms.calc = calculator
        public_point(atoms, stress and all(before.pbc))
        atoms.set_atomic_numbers(after.numbers)
        atoms.set_cell(after.cell, scale_atoms=False)
        atoms.set_pbc(after.pbc)
        return public_point(atoms, stress)
    except (Exception, SystemExit) as error:
        raise failure_of(error, "refused through ASE's own methods") from error
