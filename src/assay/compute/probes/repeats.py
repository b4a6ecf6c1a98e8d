"""Does the model give the same results for the same structure? The differences are the noise floor of other checks.

Each structure is evaluated again immediately, in another order of the structures, after a slightly displaced copy, by a
second calculator, through ASE's public methods, and with its atoms in reverse order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.compute.engines.blame import failure_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import evaluate
from assay.compute.engines.numbers import checked_energy, checked_forces
from assay.compute.probes._deviation import deviation
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Floats, Structure

NUDGES = (1e-2, 1e-4, 1e-6)
"""Small displacements (Å) after which a model with a wrong cache may return its last results."""

Evaluate = Callable[[Structure], Point]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV) and forces (eV/Å) of each structure in each test, with their sizes."""
    indices, structures, _ = engine.evaluate_accepted(probe.structures)
    engine.changed_inputs = 0
    first = [engine.evaluate(s) for s in structures]
    second = engine.model.build()

    def by_second(structure: Structure) -> Point:
        return evaluate(second, structure, ("energy", "forces"))

    def in_order(order: Sequence[int]) -> list[Point]:
        points = {i: engine.evaluate(structures[i]) for i in order}
        return [points[i] for i in range(len(structures))]

    tests = {
        "repeat": deviation(first, [_second_result(engine.evaluate, s) for s in structures]),
        "order": _worst(*(deviation(first, in_order(order)) for order in _orders(len(structures)))),
        "nudge": _after_nudges(engine.evaluate, by_second, structures),
        "second_calculator": deviation(first, [by_second(s) for s in structures[::-1]][::-1]),
        "reordered_atoms": deviation(first, [_atoms_reversed(engine.evaluate, s) for s in structures]),
        "public_methods": deviation(first, _by_public_methods(engine, structures)),
    }
    return {
        "indices": indices,
        "scale": np.array([abs(p.energy) for p in first]),
        "max_force": np.array([np.abs(p.forces).max() for p in first]),
        "natoms": np.array([len(s) for s in structures]),
        "single_precision": _is_single(first),
        "changed_inputs": engine.changed_inputs,
        "tests": {name: {"energy": e, "forces": f} for name, (e, f) in tests.items()},
    }


def _worst(*deviations: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.max([d[0] for d in deviations], axis=0), np.max([d[1] for d in deviations], axis=0)


def _second_result(evaluate: Evaluate, structure: Structure) -> Point:
    evaluate(structure)
    return evaluate(structure)


def _orders(count: int) -> list[list[int]]:
    shuffled = np.random.default_rng(count).permutation(count)
    return [list(range(count))[::-1], [int(i) for i in shuffled]]


def _after_nudges(
    evaluate: Evaluate, evaluate_second: Evaluate, structures: Sequence[Structure]
) -> tuple[Floats, Floats]:
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
        energy, forces = _worst(deviation(after_original, after_other), deviation(after_original, by_second))
        deviations.append((energy.max(), forces.max()))
    return np.array([d[0] for d in deviations]), np.array([d[1] for d in deviations])


def _atoms_reversed(evaluate: Evaluate, structure: Structure) -> Point:
    point = evaluate(structure.reordered(np.arange(len(structure))[::-1]))
    return Point(point.energy, point.forces[::-1])


def _by_public_methods(engine: CalculatorEngine, structures: Sequence[Structure]) -> list[Point]:
    """Results of `atoms.get_potential_energy()` and `atoms.get_forces()`, as users call a calculator."""
    points = []
    for structure in structures:
        atoms = structure.to_atoms()
        atoms.calc = engine.calculator
        try:
            energy, forces = atoms.get_potential_energy(), atoms.get_forces()
        except (Exception, SystemExit) as error:
            raise failure_of(error, "refused through ASE's own methods") from error
        points.append(Point(checked_energy(energy), checked_forces(forces, len(structure))))
    return points


def _is_single(points: Sequence[Point]) -> bool:
    """True if every force, or every energy, is exact in single precision, which does not happen by chance."""
    forces = np.concatenate([p.forces.ravel() for p in points])
    forces = forces[forces != 0.0]
    energies = np.array([p.energy for p in points if p.energy != 0.0])
    return any(len(v) > 2 and bool(np.all(v == v.astype(np.float32))) for v in (forces, energies))
