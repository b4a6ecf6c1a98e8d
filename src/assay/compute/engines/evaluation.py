"""One evaluation of one structure with an ASE calculator, and the checks of its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from assay.compute.engines.blame import failure_of
from assay.compute.engines.numbers import checked_energy, checked_forces, checked_stress
from assay.compute.heartbeat import beat
from assay.errors import ModelFailure
from assay.outcome import Point
from assay.stopping import stop_if_asked
from assay.structure import Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

ALL_CHANGES = ["positions", "numbers", "cell", "pbc", "initial_charges", "initial_magmoms"]

PUBLIC_METHODS = ("get_potential_energy", "get_forces", "get_stress", "get_property")


def evaluate(
    calculator: Calculator,
    structure: Structure,
    properties: tuple[str, ...],
    atoms: Atoms | None = None,
    on_change: Callable[[], None] | None = None,
) -> Point:
    """Evaluate one structure with a calculator and check the results.

    `on_change` is called if the calculator changed the atoms, which it must not do.
    """
    target = structure.to_atoms() if atoms is None else atoms
    stop_if_asked()
    requested = [name for name in properties if name != "stress" or has_stress(calculator)]
    try:
        results = _results(calculator, target, requested)
    except (Exception, SystemExit) as error:  # a model that calls sys.exit has refused, too
        raise failure_of(error) from error
    finally:
        beat()
    if on_change is not None and _changed(target, structure):
        on_change()
    pattern = "".join("T" if periodic else "F" for periodic in target.pbc)
    stress = results.get("stress") if "stress" in properties else None
    energy, forces = checked_energy(results.get("energy")), checked_forces(results.get("forces"), len(structure))
    return Point(energy, forces, checked_stress(stress), pbc=pattern)


def evaluate_fully(calculator: Calculator, structure: Structure) -> Point:
    """Energy, forces and, for crystals, the stress of a calculator that has one.

    A calculator that lists a stress but fails if it is requested still has energy and forces.
    """
    return with_stress_if_possible(calculator, structure, lambda wanted: evaluate(calculator, structure, wanted))


def with_stress_if_possible(
    calculator: Calculator, structure: Structure, evaluation: Callable[[tuple[str, ...]], Point]
) -> Point:
    """The point of an evaluation that is given the properties to request: with the stress if the model answers so."""
    if has_stress(calculator) and all(structure.pbc):
        try:
            return evaluation(("energy", "forces", "stress"))
        except ModelFailure:  # the check of the stress reports it
            pass
    return evaluation(("energy", "forces"))


def answers_by_calculate(calculator: Calculator) -> bool:
    """True if ASE's public methods return exactly what `calculate` writes into `results`.

    A calculator that overrides a public method must be called through it, because users call it that way.
    """
    if not isinstance(getattr(calculator, "results", None), dict) or not hasattr(calculator, "calculate"):
        return False
    owners = [getattr(getattr(type(calculator), name, None), "__module__", "") or "" for name in PUBLIC_METHODS]
    return all(owner.startswith("ase.") for owner in owners) and not set(PUBLIC_METHODS) & set(vars(calculator))


def has_stress(calculator: Calculator) -> bool:
    """True if the calculator lists the stress among its properties."""
    return "stress" in getattr(calculator, "implemented_properties", ())


def _changed(atoms: Atoms, structure: Structure) -> bool:
    """True if the atoms differ from the structure."""
    return not (
        np.array_equal(atoms.arrays["positions"], structure.positions)
        and np.array_equal(atoms.arrays["numbers"], structure.numbers)
        and np.array_equal(atoms.cell.array, structure.cell)
        and tuple(atoms.pbc) == structure.pbc
    )


def _results(calculator: Calculator, atoms: Atoms, properties: list[str]) -> dict[str, object]:
    """Results of `calculate` if the public methods are ASE's own, else of the public methods."""
    if answers_by_calculate(calculator):
        calculator.results = {}
        calculator.calculate(atoms, properties, list(ALL_CHANGES))
        return calculator.results
    if hasattr(calculator, "reset"):
        calculator.reset()  # the Atoms object is the same as in the last call, so a cache could miss the change
    results: dict[str, object] = {
        "energy": calculator.get_potential_energy(atoms),
        "forces": calculator.get_forces(atoms),
    }
    if "stress" in properties:
        results["stress"] = calculator.get_stress(atoms)
    return results
