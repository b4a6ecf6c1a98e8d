"""Physics that an adapter can get wrong, as assertions: signs and units of forces and stress, images, charge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.model import PERIODIC_PATTERNS, Model
from assay.models.loading import load_model
from assay.structure import Floats, Structure
from assay.testing.answers import (
    Answer,
    Tolerance,
    answer_of,
    assert_same,
    batch_answers,
    batch_of,
    fail,
    tolerance_of,
)
from assay.testing.claims import assert_refuses
from assay.testing.structures import distorted_molecule, ion, skewed_cell

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
STEPS = {"float64": 1e-4, "float32": 1e-2}
"""Displacements (Å) that give the slope of an energy of this precision best."""

STRAINS = {"float64": 1e-5, "float32": 5e-3}
"""Strains that do the same."""

RELATIVE = {"float64": 1e-6, "float32": 1e-2}
"""Error of a slope relative to the largest force."""


def _precision(model: Model) -> str:
    return "float64" if model.card.precision == "float64" else "float32"


def numerical_forces(source: object, structure: Structure, step: float) -> Floats:
    """Forces (eV/Å) as minus the slope of the energy, by central differences over ± `step` (Å)."""
    calculator = load_model(source).build()
    slopes = np.zeros_like(structure.positions)
    for place in np.ndindex(*slopes.shape):
        energies = []
        for sign in (1.0, -1.0):
            positions = structure.positions.copy()
            positions[place] += sign * step
            energies.append(answer_of(calculator, structure.moved(positions))[0])
        slopes[place] = (energies[1] - energies[0]) / (2.0 * step)
    return slopes


def assert_forces_match_energy(
    source: object, structure: Structure | None = None, *, step: float | None = None, tolerance: float | None = None
) -> None:
    """Fail unless forces are minus the slope of the energy.

    Args:
        source: Anything that `assay.load_model` takes.
        structure: By default, distorted ethanol or a cluster.
        step: Displacement of each coordinate in Å.
        tolerance: Largest deviation of a force component in eV/Å. By default it follows from the precision, the size of
            the energy and the size of the forces.
    """
    model = load_model(source)
    body = distorted_molecule(model.card.elements or (1, 6, 8)) if structure is None else structure
    length = step or STEPS[_precision(model)]
    energy, forces = answer_of(model.build(), body)
    largest = float(np.abs(forces).max())
    if largest < 0.1:
        fail(model, f"no force is larger than {largest:.2g} eV/Å, so that nothing is tested; give another structure")
    allowed = _slope_error(model, energy, largest, length) if tolerance is None else tolerance
    error = float(np.abs(forces - numerical_forces(model, body, length)).max())
    if error > allowed:
        fail(model, f"forces differ by {error:.3g} eV/Å from minus the slope of the energy (allowed {allowed:.2g})")


def _slope_error(model: Model, energy: float, largest: float, step: float) -> float:
    """The error of a slope that rounding of the energy (eV) and curvature over the step allow."""
    precision = _precision(model)
    return float(np.spacing(np.dtype(precision).type(abs(energy)))) / step + RELATIVE[precision] * largest


def assert_stress_matches_energy(
    source: object, structure: Structure | None = None, *, strain: float | None = None, tolerance: float | None = None
) -> None:
    """Fail unless the six components of the stress (eV/Å³) are the slope of the energy under strain."""
    from assay.compute.engines.calculator import evaluate

    model = load_model(source)
    cell = skewed_cell(model.card.elements or (1, 6, 7, 8)) if structure is None else structure
    size = strain or STRAINS[_precision(model)]
    calculator = model.build()
    point = evaluate(calculator, cell, ("energy", "forces", "stress"))
    if point.stress is None:
        fail(model, "it gives no stress")
    slopes = np.zeros(6)
    for place, (i, j) in enumerate(VOIGT):
        shape = np.zeros((3, 3))
        shape[i, j] = shape[j, i] = 1.0 if i == j else 0.5
        up, down = (answer_of(calculator, cell.transformed(np.eye(3) + s * size * shape))[0] for s in (1.0, -1.0))
        slopes[place] = (up - down) / (2.0 * size * cell.volume)
    scale = float(np.abs(slopes).max())
    default = _slope_error(model, point.energy / cell.volume, scale, size)
    allowed = default if tolerance is None else tolerance
    error = float(np.abs(point.stress - slopes).max())
    if error > allowed:
        fail(model, f"stress differs by {error:.3g} eV/Å³ from the slope of the energy (allowed {allowed:.2g})")


def assert_open_directions_have_no_images(
    source: object, structure: Structure | None = None, *, vacuum: float = 40.0, tolerance: Tolerance | None = None
) -> None:
    """Fail unless a direction without periodicity is like one with much vacuum, in every pattern that is claimed.

    True of models whose interactions end within `vacuum` (Å). Molecules are tried with and without a cell, which has no
    meaning for them. The same cell with periodicity in all directions must give another energy, so that a model without
    any images does not pass.
    """
    model = load_model(source)
    cell = skewed_cell(model.card.elements or (1, 6, 7, 8)) if structure is None else structure
    calculator = model.build()
    crystal = answer_of(calculator, replace(cell, pbc=(True, True, True)))
    rows: list[tuple[str, Answer, Answer]] = []
    for name, body in _without_some_periodicity(cell, model.card.pbc or ()):
        expected = answer_of(calculator, with_vacuum(body, vacuum))
        rows.append((name, answer_of(calculator, body), expected))
        if model.build_batch is not None:
            rows.append((f"{name} in a batch", batch_answers(batch_of(model), [body])[0], expected))
        if abs(crystal[0] - expected[0]) < 0.01:
            fail(model, f"{name} has the energy of the crystal: no image is felt")
    assert_same(model, rows, tolerance or tolerance_of(model), f"from themselves with {vacuum:.0f} Å of vacuum")


def _without_some_periodicity(cell: Structure, pbc: Sequence[str]) -> Iterator[tuple[str, Structure]]:
    """The atoms of a cell in each claimed pattern that is not periodic in all directions."""
    for pattern in (p for p in ("FFF", *PERIODIC_PATTERNS) if p in pbc and p != "TTT"):
        yield f"cell {pattern}", replace(cell, pbc=(pattern[0] == "T", pattern[1] == "T", pattern[2] == "T"))
    if "FFF" in pbc:
        yield "molecule without a cell", replace(cell, cell=np.zeros((3, 3)), pbc=(False, False, False))


def with_vacuum(structure: Structure, vacuum: float) -> Structure:
    """The structure periodic in all directions, with `vacuum` (Å) along those that had no period."""
    periodic = np.array(structure.pbc)
    cell = structure.cell.copy()
    normals = np.linalg.svd(cell[periodic])[2][int(periodic.sum()) :] if periodic.any() else np.eye(3)
    cell[~periodic] = vacuum * normals
    return replace(structure, cell=cell, pbc=(True, True, True))


def assert_supercell_adds_up(
    source: object,
    structure: Structure | None = None,
    times: tuple[int, int, int] = (3, 2, 2),
    *,
    tolerance: Tolerance | None = None,
) -> None:
    """Fail unless a supercell has N times the energy of the cell, and copies of an atom the same force."""
    model = load_model(source)
    cell = skewed_cell(model.card.elements or (1, 6, 7, 8)) if structure is None else structure
    calculator, copies = model.build(), int(np.prod(times))
    energy, forces = answer_of(calculator, cell)
    total, all_forces = answer_of(calculator, cell.repeated(times))
    expected = (energy, np.tile(forces, (copies, 1)))
    assert_same(
        model,
        [("energy per cell and forces", (total / copies, all_forces), expected)],
        tolerance or tolerance_of(model),
        f"between a cell and its {times[0]}×{times[1]}×{times[2]} supercell",
    )


def assert_charge_is_read(
    source: object, structure: Structure | None = None, charges: Sequence[int] = (0, -1), *, least: float = 0.5
) -> None:
    """Fail unless another charge in `atoms.info` of the same atoms gives another energy, alone and in a batch.

    `least` (eV) is the difference that must be seen; by default the structure is OH, whose electron affinity is 1.8 eV.
    """
    model = load_model(source)
    body = ion("OH", charges[0]) if structure is None else structure
    atoms = body.to_atoms()
    atoms.calc = model.build()
    energies = []
    for charge in (*charges, charges[0]):
        atoms.info["charge"] = charge
        energies.append(float(atoms.get_potential_energy()))
    gaps = np.abs(np.diff(energies))
    if gaps.min() < least:
        fail(model, f"energies for the charges {list(charges)} are {energies[:-1]} eV; the charge is not read")
    if model.build_batch is None:
        return
    ions = [replace(body, charge=charge) for charge in charges]
    expected = [answer_of(model.build(), ion) for ion in ions]
    rows = zip((f"charge {c}" for c in charges), batch_answers(batch_of(model), ions), expected, strict=True)
    assert_same(model, rows, tolerance_of(model), "in a batch")


def assert_charge_is_refused(source: object, structure: Structure | None = None, match: str = "") -> None:
    """Fail unless a charge is refused, even of atoms whose neutral energy is known, and zero is no charge."""
    model = load_model(source)
    body = ion("H2O", 0) if structure is None else structure
    calculator = model.build()
    plain = answer_of(calculator, replace(body, charge=None))
    for neutral in (replace(body, charge=0), replace(body, charge=0, spin=1), replace(body, charge=None, spin=1)):
        if answer_of(calculator, neutral)[0] != plain[0]:
            fail(model, f"{neutral.info} changes the energy of a neutral molecule")
    assert_refuses(model, replace(body, charge=1), match)
    atoms = body.to_atoms()
    atoms.calc = calculator
    atoms.get_potential_energy()
    atoms.info["charge"] = 1
    try:
        energy = atoms.get_potential_energy()
    except Exception:
        return
    fail(model, f"a charge set on known atoms is answered with the energy {energy:.6g} eV of the neutral molecule")
