"""Does the model use the charge and spin in `atoms.info`, and does it notice when only they change?

ASE does not compare `atoms.info`, so that a calculator that reads it may return the energy of the charge before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.compute.engines.blame import refusal_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import evaluate
from assay.compute.probes.repeats import public_point
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

State = Mapping[str, int]
NONE: State = {}
NEUTRAL: dict[str, State] = {
    "charge 0": {"charge": 0},
    "spin 1": {"spin": 1},
    "charge 0, spin 1": {"charge": 0, "spin": 1},
}
CHARGES: dict[str, State] = {"charge +1": {"charge": 1}, "charge -1": {"charge": -1}}
LARGER_CHARGES: dict[str, State] = {"charge +2": {"charge": 2}, "charge -2": {"charge": -2}}
TRIPLET: dict[str, State] = {"spin 3": {"spin": 3}}
EXCITED = CHARGES | LARGER_CHARGES | TRIPLET


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Energies (eV) of a closed-shell molecule by charge and spin, and deviations after only these changed.

    `settings["asked"]` are "charge", "spin" or both, `settings["claimed"]` those that the model claims. Energies that
    differ by less than `settings["same"]` are the same. The first structure that the model answers is used.
    """
    structure = engine.evaluate_accepted(probe.structures)[1][0]
    found = _energies(engine, structure, list(probe.settings["asked"]))
    answered = {name: energy for name, energy in found.items() if isinstance(energy, float)}
    singlet = _attempt(engine.calculator, structure, NEUTRAL["charge 0, spin 1"])
    neutral = singlet.energy if isinstance(singlet, Point) else engine.evaluate(structure).energy
    used = [name for name, energy in answered.items() if abs(energy - neutral) > float(probe.settings["same"])]
    return {
        "neutral": neutral,
        "natoms": len(structure),
        "energies": answered,
        "reasons": {name: reason for name, reason in found.items() if name not in answered},
        "used": used,
        "rows": _comparisons(engine, structure, list(answered)) if used or probe.settings["claimed"] else [],
    }


def _energies(engine: CalculatorEngine, structure: Structure, asked: list[str]) -> dict[str, float | str]:
    """The energy of each state, or why there is none; by calculators that have not seen the molecule before."""
    found: dict[str, Point | str] = {}
    if "charge" in asked:
        calculator = engine.model.build()
        found |= {name: _attempt(calculator, structure, state) for name, state in CHARGES.items()}
        if not any(isinstance(point, Point) for point in found.values()):
            found |= {name: _attempt(calculator, structure, state) for name, state in LARGER_CHARGES.items()}
    if "spin" in asked:
        calculator = engine.model.build()
        found |= {name: _attempt(calculator, structure, state) for name, state in TRIPLET.items()}
    return {name: point.energy if isinstance(point, Point) else point for name, point in found.items()}


def _attempt(calculator: Calculator, structure: Structure, state: State) -> Point | str:
    """The point of a state, or the reason why there is none."""
    charged = replace(structure, charge=state.get("charge"), spin=state.get("spin"))
    try:
        return evaluate(calculator, charged, ("energy", "forces"))
    except ModelFailure as failure:
        return str(failure)


def _publicly(atoms: Atoms, state: State) -> Point | str:
    """The same through the public methods of ASE, after nothing but `info` of the atoms changed."""
    atoms.info.clear()
    atoms.info.update(state)
    try:
        return public_point(atoms, stress=False)
    except (Exception, SystemExit) as error:
        return str(refusal_of(error))


def _comparisons(engine: CalculatorEngine, structure: Structure, states: list[str]) -> list[dict[str, object]]:
    """Neutral singlets against no information, and every other state against a calculator that was made for it."""
    base = _attempt(engine.model.build(), structure, NONE)
    rows = [_row("neutral", name, base, _attempt(engine.calculator, structure, s)) for name, s in NEUTRAL.items()]
    atoms = structure.to_atoms()
    atoms.calc = engine.model.build()
    _publicly(atoms, NONE)
    for name in states:
        fresh = _attempt(engine.model.build(), structure, EXCITED[name])
        for words, state, expected in ((name, EXCITED[name], fresh), (f"no information after {name}", NONE, base)):
            rows.append(_row("calculate", words, expected, _attempt(engine.calculator, structure, state)))
            rows.append(_row("public_methods", words, expected, _publicly(atoms, state)))
    return rows


def _row(test: str, words: str, expected: Point | str, found: Point | str) -> dict[str, object]:
    """The deviation of energy (eV) and forces (eV/Å), with their sizes, or the reason why there is none."""
    row: dict[str, object] = {"test": test, "state": words}
    if isinstance(found, str) or isinstance(expected, str):
        return {**row, "reason": found if isinstance(found, str) else expected}
    return {
        **row,
        "energy": abs(found.energy - expected.energy),
        "forces": float(np.abs(found.forces - expected.forces).max()),
        "scale": abs(expected.energy),
        "max_force": float(np.abs(expected.forces).max()),
    }
