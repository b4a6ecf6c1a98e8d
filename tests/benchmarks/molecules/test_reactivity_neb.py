"""Bands over a pass that is known exactly: height, place, convergence, and models that leave the band where it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.benchmark import Scope, planned_cases
from assay.compute.protocols.null import null_outcome
from assay.data.dataset import Record
from assay.data.source import DataSource
from assay.observation import Observation
from assay.structure import Floats, Structure
from assay.units import KCAL
from molecule_cases import Model, benchmark, observe, scores, source, survey

NAME = "reactivity_neb"
ROLES = ("reactant", "transition_state", "product")
BARRIER = 1.0  # eV


def bent(height: float) -> Structure:
    """Two O with an H above, between or below them."""
    return Structure.build([8, 8, 1], [[-1.3, 0.0, 0.0], [1.3, 0.0, 0.0], [0.0, height, 0.0]])


def umbrella(barrier: float = BARRIER, shift: float = 0.0, forces: float = 1.0, energy: float = 1.0) -> Model:
    """An H that swings through between two O: a double well (eV) with minima 0.8 Å above and below, and stiff rest.

    The pass is `shift` (Å) beside the middle.
    """

    def model(s: Structure) -> tuple[float, Floats]:
        (a, b, h), pull = s.positions, np.zeros((3, 3))
        axis = (b - a) / np.linalg.norm(b - a)
        arm = h - 0.5 * (a + b)
        along, height = float(arm @ axis) - shift, arm - (arm @ axis) * axis
        y2 = float(height @ height) / 0.64
        stretch = float(np.linalg.norm(b - a)) - 2.6
        value = barrier * (1.0 - y2) ** 2 + 5.0 * along**2 + 5.0 * stretch**2
        pull[2] = 4.0 * barrier * (1.0 - y2) * height / 0.64 - 10.0 * along * axis
        pull[0] = -0.5 * pull[2] + (10.0 * stretch * axis)
        pull[1] = -0.5 * pull[2] - (10.0 * stretch * axis)
        # Turning the axis trades distance along it for height.
        turn = (10.0 * along + 4.0 * barrier * (1.0 - y2) / 0.64 * float(arm @ axis)) * height / np.linalg.norm(b - a)
        pull[1] -= turn
        pull[0] += turn
        return energy * value, forces * pull

    return model


def data() -> DataSource:
    made = Record("swing", (bent(0.79), bent(0.001), bent(-0.79)), (0.0, BARRIER, 0.0), None, ROLES)
    return source("reactions", made)


def seen(model: Model, **settings: object) -> Observation:
    return observe(NAME, data(), model, **settings)["swing"]


def test_forces_of_the_model_in_this_test_are_its_gradient() -> None:
    model, place = umbrella(shift=0.05), bent(0.5)
    place = place.moved(place.positions + 0.1 * np.random.default_rng(0).standard_normal((3, 3)))
    for atom in range(3):
        for axis in range(3):
            step = np.zeros((3, 3))
            step[atom, axis] = 1e-5
            ahead, behind = (model(place.moved(place.positions + sign * step))[0] for sign in (1.0, -1.0))
            assert model(place)[1][atom, axis] == pytest.approx((behind - ahead) / 2e-5, abs=1e-6)


def test_the_right_pass_scores_one() -> None:
    found = seen(umbrella())
    assert found.status == "ok", found.reason
    assert found.values["barrier_error"] == pytest.approx(0.0, abs=0.05)
    assert found.values["ts_rmsd"] < 0.05
    assert found.values["reaction_energy_error"] == pytest.approx(0.0, abs=0.05)
    assert found.values["predicted_barrier"] == pytest.approx(KCAL, abs=0.05)
    assert benchmark(NAME).case_score(found) == 1.0
    assert len(found.detail["path"]) == len(found.detail["predicted"]) == 9


def test_a_pass_that_is_too_high_costs_score() -> None:
    found = seen(umbrella(barrier=1.2))
    error = 0.2 * KCAL
    assert found.values["barrier_error"] == pytest.approx(error, abs=0.1)
    assert benchmark(NAME).case_score(found) == pytest.approx(math.exp(-3.0 * (error - 3.0) / 3.0), abs=0.02)


def test_a_pass_of_the_right_height_in_the_wrong_place_costs_score() -> None:
    found = seen(umbrella(shift=0.5))
    assert found.values["barrier_error"] < 0.5
    assert found.values["ts_rmsd"] > 0.2
    assert benchmark(NAME).case_score(found) < 0.5


def test_a_model_without_forces_fails_although_its_band_lies_on_the_reference() -> None:
    found = seen(umbrella(forces=0.0))
    assert found.status == "failed"
    assert "there are no forces" in found.reason
    assert found.values["literal_score"] == 1.0, "the published score asks for convergence only"


def test_a_model_of_constant_energy_fails() -> None:
    assert seen(umbrella(energy=0.0)).status == "failed"


def test_the_null_model_converges_and_scores_nothing() -> None:
    asked = benchmark(NAME)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    null = asked.observe_null(case, {role: null_outcome(job) for role, job in case.jobs.items()})
    assert null.values["converged"] == 1.0
    assert asked.case_score(null) == pytest.approx(0.0, abs=1e-3)


def test_a_band_that_does_not_converge_fails_and_counts_as_such() -> None:
    found = seen(umbrella(shift=0.5), steps=1)
    assert found.status == "failed"
    assert "not converged after 1 steps" in found.reason
    assert found.detail["predicted"].shape == (9,)
    good = seen(umbrella())
    share = {m.name: m for m in benchmark(NAME).measure([found, good])}["converged"]
    assert share.value == 0.5
    assert {m.name: m.value for m in benchmark(NAME).measure([found, good])}["literal_score"] == 0.5
    assert scores(NAME, {"a": found, "b": good}) == {"a": 0.0, "b": 1.0}


def test_a_refusal_on_the_way_fails() -> None:
    model = umbrella(shift=0.3)

    def shy(s: Structure) -> tuple[float, Floats]:
        if abs(s.positions[2, 1]) not in (0.79, 0.001):
            raise ValueError("not here")
        return model(s)

    found = seen(shy)
    assert found.status == "failed"
    assert "not here" in found.reason


def test_atoms_in_another_order_have_no_path() -> None:
    made = data().given[0].records[0]
    other = Record("swing", (made.structures[0].reordered([2, 0, 1]), *made.structures[1:]), made.energies, None, ROLES)
    (case,) = planned_cases(benchmark(NAME), Scope(survey(), source("reactions", other)))
    assert case.unsupported == "the structures list their atoms in different orders"
