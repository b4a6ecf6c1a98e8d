"""Does the model give the same answer to the same question? The spread is the noise floor that other checks use.

Each structure is evaluated again at once, again in other orders, after a close neighbour, by a second calculator,
through ASE's public methods, and with its atoms listed backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine, evaluate
from assay.compute.probes._deviation import deviation
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Floats, Structure

NUDGES = (1e-2, 1e-4, 1e-6)
"""Small moves (Å) after which a model may be tempted to return its last answer."""

Ask = Callable[[Structure], Point]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV) and forces (eV/Å) of each structure in each test, and the values themselves."""
    indices, usable, _ = engine.answered(probe.structures)
    engine.changed_inputs = 0
    first = [engine.evaluate(s) for s in usable]
    other = engine.model.build()
    tests = {
        "repeat": deviation(first, [_last_of(engine.evaluate, s, 2) for s in usable]),
        "order": _worst(*(deviation(first, _in_order(engine.evaluate, usable, o)) for o in _orders(len(usable)))),
        "nudge": _nudged(engine.evaluate, lambda s: evaluate(other, s, ("energy", "forces")), usable),
        "second_calculator": deviation(first, [evaluate(other, s, ("energy", "forces")) for s in usable[::-1]][::-1]),
        "reordered_atoms": deviation(first, [_backwards(engine.evaluate, s) for s in usable]),
        "public_methods": deviation(first, _publicly(engine, usable)),
    }
    return {
        "indices": indices,
        "scale": np.array([abs(p.energy) for p in first]),
        "max_force": np.array([np.abs(p.forces).max() for p in first]),
        "natoms": np.array([len(s) for s in usable]),
        "single_precision": _is_single(first),
        "changed_inputs": engine.changed_inputs,
        "tests": {name: {"energy": e, "forces": f} for name, (e, f) in tests.items()},
    }


def _worst(*deviations: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    return np.max([d[0] for d in deviations], axis=0), np.max([d[1] for d in deviations], axis=0)


def _last_of(ask: Ask, structure: Structure, times: int) -> Point:
    for _ in range(times - 1):
        ask(structure)
    return ask(structure)


def _orders(count: int) -> list[list[int]]:
    shuffled = np.random.default_rng(count).permutation(count)
    return [list(range(count))[::-1], [int(i) for i in shuffled]]


def _in_order(ask: Ask, structures: Sequence[Structure], order: Sequence[int]) -> list[Point]:
    found = {i: ask(structures[i]) for i in order}
    return [found[i] for i in range(len(structures))]


def _nudged(ask: Ask, ask_other: Ask, structures: Sequence[Structure]) -> tuple[Floats, Floats]:
    """A slightly moved structure gives the same whether its unmoved twin came before, something else, or nothing."""
    deviations = []
    for i, structure in enumerate(structures):
        far = structures[i - 1] if len(structures) > 1 else structure.moved(structure.positions * 1.1)
        after_twin, after_far, alone = [], [], []
        for size in NUDGES:
            close = structure.moved(structure.positions + size * np.eye(len(structure), 3))
            ask(structure)
            after_twin.append(ask(close))
            ask(far)
            after_far.append(ask(close))
            alone.append(ask_other(close))
        energy, forces = _worst(deviation(after_twin, after_far), deviation(after_twin, alone))
        deviations.append((energy.max(), forces.max()))
    return np.array([d[0] for d in deviations]), np.array([d[1] for d in deviations])


def _backwards(ask: Ask, structure: Structure) -> Point:
    point = ask(structure.reordered(np.arange(len(structure))[::-1]))
    return Point(point.energy, point.forces[::-1])


def _publicly(engine: CalculatorEngine, structures: Sequence[Structure]) -> list[Point]:
    """Through `atoms.get_potential_energy()`, the way users call a calculator."""
    found = []
    for structure in structures:
        atoms = structure.to_atoms()
        atoms.calc = engine.calculator
        try:
            found.append(Point(float(atoms.get_potential_energy()), np.array(atoms.get_forces(), dtype=float)))
        except Exception as error:
            raise ModelFailure(f"refused through ASE's own methods: {type(error).__name__}: {error}") from error
    return found


def _is_single(points: Sequence[Point]) -> bool:
    """True when every force, or every energy, is a number that single precision can hold: that is never chance."""
    forces = np.concatenate([p.forces.ravel() for p in points])
    forces = forces[forces != 0.0]
    energies = np.array([p.energy for p in points if p.energy != 0.0])
    return any(len(v) > 2 and bool(np.all(v == v.astype(np.float32))) for v in (forces, energies))
