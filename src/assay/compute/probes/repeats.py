"""Does the model give the same results for the same structure? The differences are the noise floor of other checks.

Each structure is evaluated again immediately, in another order of the structures, after a slightly displaced copy, by a
second calculator, through ASE's public methods, and with its atoms in reverse order. A few are evaluated along a line
of tiny displacements, whose roughness shows in which precision the model computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.rounding import roughness
from assay.compute.engines.blame import failure_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import evaluate_fully
from assay.compute.engines.numbers import checked_energy, checked_forces, checked_stress
from assay.compute.probes._deviation import Deviation, deviation, sizes, worst
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase import Atoms

NUDGES = (1e-2, 1e-4, 1e-6)
"""Small displacements (Å) after which a model with a wrong cache may return its last results."""

GRID = 2.0**-12
"""Positions on the line are multiples of this (Å), which single precision has exactly: a model that only rounds its
coordinates is not rough here, one that computes in single precision is."""

LINES, LINE_POINTS = 3, 25
"""Structures that are displaced along a line, and points on it."""

Evaluate = Callable[[Structure], Point]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV), forces (eV/Å) and stress (eV/Å³) of each structure in each test."""
    indices, structures, _ = engine.evaluate_accepted(probe.structures)
    engine.changed_inputs = 0
    ask = engine.evaluate_fully
    first = [ask(s) for s in structures]
    second = engine.model.build()

    def by_second(structure: Structure) -> Point:
        return evaluate_fully(second, structure)

    def in_order(order: Sequence[int]) -> list[Point]:
        points = {i: ask(structures[i]) for i in order}
        return [points[i] for i in range(len(structures))]

    tests = {
        "repeat": deviation(first, [_second_result(ask, s) for s in structures]),
        "order": worst(*(deviation(first, in_order(order)) for order in _orders(len(structures)))),
        "nudge": _after_nudges(ask, by_second, structures),
        "second_calculator": deviation(first, [by_second(s) for s in structures[::-1]][::-1]),
        "reordered_atoms": deviation(first, [_atoms_reversed(ask, s) for s in structures]),
        "public_methods": deviation(first, _by_public_methods(engine, structures, first)),
    }
    return {
        "indices": indices,
        **sizes(first),
        "single_precision": _is_single(first),
        "rounding": _rounding(engine.evaluate, structures),
        "changed_inputs": engine.changed_inputs,
        "tests": {name: found.as_dict() for name, found in tests.items()},
    }


def _rounding(evaluate: Evaluate, structures: Sequence[Structure]) -> dict[str, Floats]:
    """Roughness of energy (eV) and forces (eV/Å) of a few structures along a line, with their indices."""
    chosen = sorted({round(i) for i in np.linspace(0, len(structures) - 1, LINES)})
    rows = []
    for i in chosen:
        structure = structures[i]
        start = np.round(structure.positions / GRID) * GRID
        move = GRID * np.random.default_rng(i).integers(-2, 3, size=start.shape)
        points = [evaluate(structure.moved(start + k * move)) for k in range(LINE_POINTS)]
        energies, forces = np.array([p.energy for p in points]), np.array([p.forces for p in points])
        rows.append([roughness(energies), roughness(forces), float(_has_decimals(energies) or _has_decimals(forces))])
    values = np.array(rows)
    return {"index": np.array(chosen), "energy": values[:, 0], "forces": values[:, 1], "decimals": values[:, 2]}


def _has_decimals(values: Floats) -> bool:
    """True if all numbers have at most eight decimals, as after passing through text."""
    return bool(np.all(np.abs(values - np.round(values, 8)) <= 4.0 * np.spacing(np.abs(values))))


def _second_result(evaluate: Evaluate, structure: Structure) -> Point:
    evaluate(structure)
    return evaluate(structure)


def _orders(count: int) -> list[list[int]]:
    shuffled = np.random.default_rng(count).permutation(count)
    return [list(range(count))[::-1], [int(i) for i in shuffled]]


def _after_nudges(evaluate: Evaluate, evaluate_second: Evaluate, structures: Sequence[Structure]) -> Deviation:
    """Deviations of slightly displaced structures: evaluated after the original, after another structure, or first."""
    deviations = []
    for i, structure in enumerate(structures):
        other = structures[i - 1] if len(structures) > 1 else structure.moved(structure.positions * 1.1)
        after_original, after_other, by_second = [], [], []
        for size in NUDGES:
            displaced = structure.moved(structure.positions + size * np.eye(len(structure), 3))
            evaluate(structure)
            after_original.append(evaluate(displaced))
            evaluate(other)
            after_other.append(evaluate(displaced))
            by_second.append(evaluate_second(displaced))
        found = worst(deviation(after_original, after_other), deviation(after_original, by_second))
        deviations.append([column.max() for column in found])
    return Deviation(*np.array(deviations).T)


def _atoms_reversed(evaluate: Evaluate, structure: Structure) -> Point:
    point = evaluate(structure.reordered(np.arange(len(structure))[::-1]))
    return Point(point.energy, point.forces[::-1], point.stress)


def _by_public_methods(
    engine: CalculatorEngine, structures: Sequence[Structure], first: Sequence[Point]
) -> list[Point]:
    """Results of `atoms.get_potential_energy()` and so on, as users call a calculator."""
    points = []
    for structure, known in zip(structures, first, strict=True):
        atoms = structure.to_atoms()
        atoms.calc = engine.calculator
        try:
            points.append(public_point(atoms, known.stress is not None))
        except (Exception, SystemExit) as error:
            raise failure_of(error, "refused through ASE's own methods") from error
    return points


def public_point(atoms: Atoms, stress: bool) -> Point:
    """Energy, forces and, if wanted, stress by the public methods of ASE; what they raise is passed on."""
    energy, forces = checked_energy(atoms.get_potential_energy()), checked_forces(atoms.get_forces(), len(atoms))
    return Point(energy, forces, checked_stress(atoms.get_stress()) if stress else None)


def _is_single(points: Sequence[Point]) -> bool:
    """True if every force, or every energy, is exact in single precision, which does not happen by chance."""
    forces = np.concatenate([p.forces.ravel() for p in points])
    forces = forces[forces != 0.0]
    energies = np.array([p.energy for p in points if p.energy != 0.0])
    return any(len(v) > 2 and bool(np.all(v == v.astype(np.float32))) for v in (forces, energies))
