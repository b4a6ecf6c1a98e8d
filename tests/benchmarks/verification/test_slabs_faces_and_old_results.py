"""Slabs without a stress are left out, atoms are on faces exactly, and results without a stress are still judged."""

from __future__ import annotations

import numpy as np
import pytest

from assay.benchmark import Case, Scope, observe_case
from assay.benchmarks.bases.limits import judge_deviations
from assay.benchmarks.builders.faces import crystals_on_faces
from assay.benchmarks.builders.strained import components
from assay.benchmarks.registry import registered_benchmarks
from assay.compute.engines.calculator import CalculatorEngine
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.sabotage.broken.ase_results import AllStresses
from assay.testing import fake_survey

NOISE = {"precision": "float64", "noise_energy": 0.0, "noise_force": 0.0}


def stress_of(model: object, pattern: str) -> str:
    """The status of the slab or wire in the check of the stress."""
    check = registered_benchmarks()["verification.stress_matches_energy"]()
    case = next(c for c in check.cases(Scope(fake_survey())) if c.id == f"Cu-{pattern}")
    engine = CalculatorEngine(load_model(model))
    outcomes = {role: engine.run(role, job) for role, job in case.jobs.items()}
    seen = observe_case(check, Case(case.id, case.jobs, {**case.context, **NOISE}), outcomes)
    return seen.status if seen.values.get("error_over_tolerance", 0.0) <= 1.0 else "wrong"


@pytest.mark.parametrize("pattern", ["TTF", "TFF"])
def test_the_stress_of_a_slab_is_judged_where_there_is_one(pattern: str) -> None:
    assert stress_of("assay.sabotage:sound", pattern) == "unsupported"
    assert stress_of(AllStresses, pattern) == "ok"
    assert stress_of("assay.sabotage:slab_stress_of_other_volume", pattern) == "wrong"


def test_components_of_a_slab_lie_in_its_plane() -> None:
    cell = np.array([[3.0, 0.2, 0.1], [0.4, 2.8, -0.3], [0.1, 0.5, 6.0]])
    names, matrices = components("TTF", cell)
    normal = np.cross(cell[0], cell[1])
    assert len(names) == len(matrices) == 3
    assert np.abs(matrices @ normal).max() < 1e-12
    (_, along) = components("TFF", cell)
    np.testing.assert_allclose(along[0], np.outer(cell[0], cell[0]) / (cell[0] @ cell[0]))
    np.testing.assert_allclose(components("TTT", cell)[1][5], [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]])


def test_atoms_are_on_faces_exactly_and_not_before_they_are_moved() -> None:
    ((kind, label, structure),) = crystals_on_faces(fake_survey())
    assert (kind, label) == ("TTT-faces", "CuAu")
    edges = np.diag(structure.cell)
    assert np.array_equal(edges * (1.0 / edges), np.ones(3))
    inside = structure.positions / edges % 1.0
    assert ((inside > 0.01) & (inside < 0.99) & (np.abs(inside - 0.5) > 0.01)).all()
    for fraction in (0.0, 0.5, 1.0):
        moved = (structure.positions - structure.positions[0] + fraction * edges) / edges
        assert (moved == fraction).sum() == 6, "one atom and three coordinates of others"
    tiny = (structure.positions - structure.positions[0] - 4e-52 * edges) @ np.linalg.inv(structure.cell)
    assert (tiny - np.floor(tiny) == 1.0).sum() == 6


def test_deviations_of_earlier_versions_have_no_stress_and_are_judged() -> None:
    values = {
        "indices": [0], "natoms": [4], "scale": [10.0], "max_force": [1.0], "energy": [0.0], "forces": [0.0]
    }  # fmt: skip
    case = Case("repeats", {}, {"labels": ["Cu"], **NOISE})
    assert len(judge_deviations(case, "repeat", values)) == 2
    (*_, stress) = judge_deviations(case, "repeat", {**values, "stress": [1e-3], "max_stress": [0.1]})
    assert (stress.unit, stress.ratio > 1.0) == ("eV/Å³", True)


def test_memory_of_earlier_versions_is_judged() -> None:
    check = registered_benchmarks()["verification.memory_stable"]()
    outcome = Outcome("key", "ok", {"evaluations": 240, "resident_bytes": 0.0, "python_bytes": 10.0})
    seen = observe_case(check, Case("evaluations", {}, NOISE), {"memory": outcome})
    assert (seen.status, seen.detail["comparisons"]) == ("ok", 2)
