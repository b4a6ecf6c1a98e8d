"""Does a refused structure leave old results in the calculator?

A calculator that keeps its last results when it fails can return them for a structure that it never computed, or return
wrong results for the next structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.compute.engines.blame import failure_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.numbers import checked_energy, checked_forces
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

Evaluate = Callable[[Structure], Point]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Evaluate good structures before and after bad ones. The last `bad` structures are the ones that are refused."""
    split = len(probe.structures) - int(probe.settings["bad"])
    good, bad = probe.structures[:split], probe.structures[split:]
    direct = _trial(engine.evaluate, good, bad)
    public = _trial(_public(engine), good, bad)
    return {
        "refused": direct["refused"],
        "answered": [*direct["answered"], *public["answered"]],
        "energy": max(direct["energy"], public["energy"]),
        "forces": max(direct["forces"], public["forces"]),
        "scale": direct["scale"],
        "max_force": direct["max_force"],
        "natoms": max(len(s) for s in good),
    }


def _trial(evaluate: Evaluate, good: Sequence[Structure], bad: Sequence[Structure]) -> dict[str, Any]:
    before = [evaluate(s) for s in good]
    refused, answered, energy, forces = 0, [], 0.0, 0.0
    for i, broken in enumerate(bad):
        for j, structure in enumerate(good):
            evaluate(structure)
            for _ in range(2):  # at the second call, a wrong cache may return the results of another structure
                try:
                    point = evaluate(broken)
                    same = any(point.energy == earlier.energy for earlier in before)
                    answered.append({"bad": i, "stale": bool(same)})
                except ModelFailure:
                    refused += 1
            after = evaluate(structure)
            energy = max(energy, abs(after.energy - before[j].energy))
            forces = max(forces, float(np.abs(after.forces - before[j].forces).max()))
    return {
        "refused": refused,
        "answered": answered,
        "energy": energy,
        "forces": forces,
        "scale": max(abs(p.energy) for p in before),
        "max_force": max(float(np.abs(p.forces).max()) for p in before),
    }


def _public(engine: CalculatorEngine) -> Evaluate:
    """Evaluation by ASE's own methods, with one `Atoms` object per structure, so that ASE's cache is used."""
    atoms_of: dict[int, Any] = {}

    def evaluate(structure: Structure) -> Point:
        atoms = atoms_of.setdefault(id(structure), structure.to_atoms())
        try:
            atoms.calc = engine.calculator  # some calculators check the atoms, and may refuse them, already here
            energy, forces = atoms.get_potential_energy(), atoms.get_forces()
        except (Exception, SystemExit) as error:
            raise failure_of(error) from error
        return Point(checked_energy(energy), checked_forces(forces, len(structure)))

    return evaluate
