"""Is anything stale left after the model refuses a structure?

A calculator that keeps its last results when it fails can hand them out as the answer to a structure that it never
computed, or spoil the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import Cause, ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

Ask = Callable[[Structure], Point]


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """The first structures are good, the last `bad` ones were refused before; good ones must not change in between."""
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


def _trial(ask: Ask, good: Sequence[Structure], bad: Sequence[Structure]) -> dict[str, Any]:
    before = [ask(s) for s in good]
    refused, answered, energy, forces = 0, [], 0.0, 0.0
    for i, broken in enumerate(bad):
        for j, structure in enumerate(good):
            ask(structure)
            for _ in range(2):  # the second time, a careless cache no longer remembers that it failed
                try:
                    point = ask(broken)
                    same = any(point.energy == known.energy for known in before)
                    answered.append({"bad": i, "stale": bool(same)})
                except ModelFailure:
                    refused += 1
            after = ask(structure)
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


def _public(engine: CalculatorEngine) -> Ask:
    """ASE's own methods on one `Atoms` object per structure, which is what makes a cache look for changes."""
    known: dict[int, Any] = {}

    def ask(structure: Structure) -> Point:
        atoms = known.setdefault(id(structure), structure.to_atoms())
        try:
            atoms.calc = engine.calculator  # some calculators look at the atoms, and refuse, already here
            energy = float(atoms.get_potential_energy())
            forces = np.array(atoms.get_forces(), dtype=float)
        except Exception as error:
            raise ModelFailure(f"refused: {type(error).__name__}: {error}") from error
        if forces.shape != (len(structure), 3) or not np.isfinite(forces).all() or not np.isfinite(energy):
            raise ModelFailure("returned forces that do not belong to this structure", Cause.MALFORMED)
        return Point(energy, forces)

    return ask
