"""Spacing: the search ends with usable forces, for any length scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import spacing
from assay.configurations import cluster
from assay.jobs import Probe
from assay.structure import Structure
from toys import Says, Spring, Toy, distances, engine_of


def searched(engine: CalculatorEngine, structure: Structure) -> dict[str, Any]:
    (row,) = spacing.run(engine, Probe("spacing", (structure,)))["rows"]  # type: ignore[misc]
    return dict(row)


@pytest.mark.parametrize(("sigma", "epsilon"), [(1.0, 1.0), (3.4, 0.0103), (2.3, 0.4)])
@pytest.mark.parametrize("number", [1, 29, 55], ids=["H", "Cu", "Cs"])
def test_usable_forces_are_found_for_any_length_scale(sigma: float, epsilon: float, number: int) -> None:
    engine = engine_of(lambda: LennardJones(sigma=sigma, epsilon=epsilon, rc=10.0 * sigma))
    structure = cluster((number,))
    row = searched(engine, structure)
    scaled = structure.transformed(row["factor"] * np.eye(3))
    force = np.abs(engine.evaluate(scaled).forces).max()
    assert row["max_force"] == pytest.approx(force)
    assert spacing.SIZEABLE <= force <= spacing.ABSURD
    assert 0.7 < distances(scaled.positions).min() / sigma < 2.5
    assert row["reason"] == ""


class Spacious(Toy):
    """Refuses atoms closer than 4 Å; beyond, the force decreases with the square of the distance."""

    def answer(self, atoms: Atoms) -> dict[str, object]:
        nearest = distances(atoms.positions).min()
        if nearest < 4.0:
            raise ValueError("too dense")
        return {"energy": 0.0, "forces": np.full((len(atoms), 3), 8.0 / nearest**2)}


def test_structures_that_are_refused_are_expanded_until_they_are_accepted() -> None:
    structure = cluster((29,))
    row = searched(engine_of(Spacious), structure)
    assert row["max_force"] is not None
    nearest = row["factor"] * distances(structure.positions).min()
    assert 4.0 <= nearest < 4.0 * spacing.STEP
    assert row["reason"] == ""


def test_the_reason_is_given_if_every_spacing_is_refused() -> None:
    row = searched(engine_of(lambda: Says(energy=np.nan)), cluster((29,)))
    assert row["max_force"] is None
    assert row["reason"] == "returned the energy nan"


def test_the_search_ends_for_a_model_without_forces() -> None:
    row = searched(engine_of(Toy), cluster((29,)))
    assert row["max_force"] == 0.0
    assert row["tries"] == spacing.TRIES


def test_the_spacing_with_forces_nearest_to_the_window_is_used() -> None:
    class Weak(Spring):
        stiffness = 1e-9

    row = searched(engine_of(Weak), cluster((29,)))
    assert 0.0 < row["max_force"] < spacing.SIZEABLE
