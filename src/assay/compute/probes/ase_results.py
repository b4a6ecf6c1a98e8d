"""Are results what ASE and programs that use it expect: shapes, kinds of numbers, parts that add up, sums of models?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.compute.engines.blame import refusal_of
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.evaluation import answers_by_calculate
from assay.compute.probes.repeats import public_point
from assay.jobs import Probe
from assay.outcome import Point
from assay.structure import Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

Fault = dict[str, str]
SCALARS = ("energy", "free_energy")


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """For each structure: what has the wrong form, and by how much parts and sums deviate (eV, eV/Å, eV/Å³)."""
    indices, structures, points = engine.evaluate_accepted(probe.structures, stress=True)
    calculator = engine.model.build()
    rows = [_row(calculator, s, p.stress is not None) for s, p in zip(structures, points, strict=True)]
    return {"indices": indices, "rows": rows}


def _row(calculator: Calculator, structure: Structure, stress: bool) -> dict[str, object]:
    atoms = structure.to_atoms()
    atoms.calc = calculator
    row: dict[str, Any] = {"natoms": len(structure), "faults": [], "deviations": []}
    try:
        energy, forces = atoms.get_potential_energy(), atoms.get_forces()
        asked = {"energy": energy, "forces": forces, **_raw_stress(calculator, atoms, stress)}
        stored = {name: value for name, value in _results(calculator).items() if value is not None or name in asked}
        row["faults"] = [*_faults(asked, len(structure)), *_faults(stored, len(structure))]
        if not row["faults"]:
            row["deviations"] = [*_parts({**asked, **stored}, stress), *([_full_tensor(atoms)] if stress else [])]
            row["deviations"] += _sum(calculator, structure, public_point(atoms, stress))
    except (Exception, SystemExit) as error:
        words = f"refused ({refusal_of(error, '')})"
        row["faults"] = [{"what": "a call of ASE's public methods", "found": words, "expected": "values"}]
    return row


def _results(calculator: Calculator) -> Mapping[str, object]:
    results = getattr(calculator, "results", {})
    return results if isinstance(results, Mapping) else {}


def _raw_stress(calculator: Calculator, atoms: Atoms, stress: bool) -> dict[str, object]:
    """The stress as the calculator gives it; the methods of `Atoms` would convert a tensor to six components."""
    return {"stress": calculator.get_stress(atoms)} if stress else {}


def _faults(found: Mapping[str, object], count: int) -> Iterator[Fault]:
    """Results that are not of the kind or shape that ASE states."""
    shapes = {"forces": (count, 3), "stress": (6,), "energies": (count,), "stresses": (count, 6)}
    for name in SCALARS:
        if name in found and (words := _not_a_number(found[name])):
            yield {"what": name, "found": words, "expected": "one number"}
    for name, shape in shapes.items():
        if name in found and (words := _not_an_array(found[name], shape)):
            yield {"what": name, "found": words, "expected": f"an array of numbers of shape {shape}"}


def _not_a_number(value: Any) -> str:
    """What is wrong with a value that should be a real number; empty if nothing is."""
    if np.ndim(value) != 0:
        return f"{type(value).__name__} of shape {np.shape(value)}"
    return "" if np.asarray(value).dtype.kind in "fiu" else f"{type(value).__name__}"


def _not_an_array(value: object, shape: tuple[int, ...]) -> str:
    """What is wrong with a value that should be an array of floats; empty if nothing is."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return f"a {type(value).__name__}"
    array = np.asarray(value)
    if array.shape != shape:
        return f"an array of shape {array.shape}"
    return "" if array.dtype.kind == "f" else f"an array of {array.dtype}"


def _deviation(
    what: str, kind: str, found: object, expected: object, scale: float, again: bool = False
) -> dict[str, object]:
    """How far a value is from what it should be; `again` if the model may have computed it a second time."""
    error = float(np.abs(np.asarray(found, dtype=float) - np.asarray(expected, dtype=float)).max())
    return {"what": what, "kind": kind, "error": error, "scale": scale, "again": again}


def _parts(found: Mapping[str, object], stress: bool) -> Iterator[dict[str, object]]:
    """Energies and stresses of atoms, which add up to those of the structure."""
    for part, kind in (("energies", "energy"), ("stresses", "stress")):
        if part in found and kind in found and (kind == "energy" or stress):
            values = np.asarray(found[part], dtype=float)
            scale = float(np.abs(values).sum(axis=0).max())
            yield _deviation(f"the sum of '{part}'", kind, values.sum(axis=0), found[kind], scale)


def _sum(calculator: Calculator, structure: Structure, once: Point) -> Iterator[dict[str, object]]:
    """ASE's sum of the calculator and itself against twice the calculator.

    Calculators with an interface of their own may not work in a sum, but must not give other numbers there.
    """
    from ase.calculators.mixing import SumCalculator

    atoms = structure.to_atoms()
    try:
        atoms.calc = SumCalculator([calculator, calculator])
        twice = public_point(atoms, once.stress is not None)
    except Exception:
        if answers_by_calculate(calculator):
            raise
        return
    for kind in ("energy", "forces", "stress"):
        if (value := getattr(once, kind)) is not None:
            expected = 2.0 * np.asarray(value)
            scale = float(np.abs(expected).max())
            yield _deviation("the sum of two", kind, getattr(twice, kind), expected, scale, again=True)


def _full_tensor(atoms: Atoms) -> dict[str, object]:
    """The stress as a tensor of shape (3, 3) against its six components."""
    voigt, tensor = np.asarray(atoms.get_stress()), np.asarray(atoms.get_stress(voigt=False))
    expected = voigt[[[0, 5, 4], [5, 1, 3], [4, 3, 2]]]
    return _deviation("the stress as a tensor", "stress", tensor, expected, float(np.abs(voigt).max()))
