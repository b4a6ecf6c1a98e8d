"""Path: jumps of energy and force are found with their position and size, and smooth curves have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.probes import path
from assay.compute.probes._lookahead import CONFIRMED
from assay.errors import ModelFailure
from assay.jobs import Probe
from assay.outcome import OK, Outcome
from assay.remarks import batch_remarks
from assay.structure import Floats, Structure
from toys import Pair, Says, engine_of

DEPTH, LENGTH, RANGE = 1.0, 2.0, 1.5


def morse(r: float) -> float:
    """A smooth bond, 1 eV deep at 2 Å."""
    return float(DEPTH * ((1.0 - np.exp(-RANGE * (r - LENGTH))) ** 2 - 1.0))


def morse_slope(r: float) -> float:
    fall = np.exp(-RANGE * (r - LENGTH))
    return float(2.0 * DEPTH * RANGE * fall * (1.0 - fall))


def measured(engine: CalculatorEngine, **changes: float) -> dict[str, Any]:
    """A dimer stretched from 1 Å to 9 Å; positions on the path are relative to 1 Å."""
    settings: dict[str, float] = {
        "atom": 1, "x": 0.0, "y": 0.0, "z": 1.0, "start": 0.0, "end": 8.0, "step": 0.1, "budget": 700,
        "energy_limit": 1e-6, "force_limit": 1e-5, "epsilon": 2.2e-16, **changes,
    }  # fmt: skip
    return path.run(engine, Probe("path", (Structure.build([29, 29], [[0, 0, 0], [0, 0, 1.0]]),), settings))


def test_a_smooth_curve_has_no_jump() -> None:
    values = measured(engine_of(lambda: Pair(morse, morse_slope)))
    assert values["jumps"] == []
    assert (values["roughness"], values["unseen"]) == (0.0, 0.0)
    assert values["refused"] == 0
    assert values["well"] == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(values["energy"], [morse(1.0 + at) for at in values["at"]], atol=1e-12)
    np.testing.assert_allclose(values["force"], [-morse_slope(1.0 + at) for at in values["at"]], atol=1e-12)
    np.testing.assert_allclose(values["at"], np.linspace(0.0, 8.0, 81), atol=1e-12)


@pytest.mark.parametrize(("where", "size"), [(2.7182818, 1e-2), (2.7182818, -2e-4), (6.0, 1e-4), (5.4321, -1e-5)])
def test_a_jump_of_the_energy_is_found_with_its_position_and_size(where: float, size: float) -> None:
    def jumping(r: float) -> float:
        return morse(r) + size * (r > where)

    values = measured(engine_of(lambda: Pair(jumping, morse_slope)))
    (jump,) = values["jumps"]
    assert 1.0 + jump["at"] == pytest.approx(where, abs=1e-5)
    assert jump["energy"] == pytest.approx(abs(size), rel=0.01, abs=2e-6)
    assert jump["force"] < 1e-4


@pytest.mark.parametrize(("where", "size"), [(3.14159, 1e-1), (3.14159, -5e-3), (5.4321, 1e-3)])
def test_a_jump_of_the_force_is_found_with_its_position_and_size(where: float, size: float) -> None:
    def kinked(r: float) -> float:
        return morse(r) + size * max(0.0, r - where)

    def slope(r: float) -> float:
        return morse_slope(r) + size * (r > where)

    values = measured(engine_of(lambda: Pair(kinked, slope)))
    (jump,) = values["jumps"]
    assert 1.0 + jump["at"] == pytest.approx(where, abs=1e-5)
    assert jump["force"] == pytest.approx(abs(size), rel=0.01)
    assert jump["energy"] < 1e-7  # the change by the slope is subtracted


def test_two_jumps_are_found_as_two() -> None:
    def two_steps(r: float) -> float:
        return morse(r) + 1e-3 * (r > 4.111) + 2e-3 * (r > 5.222)

    jumps = sorted(measured(engine_of(lambda: Pair(two_steps, morse_slope)))["jumps"], key=lambda jump: jump["at"])
    assert [1.0 + jump["at"] for jump in jumps] == pytest.approx([4.111, 5.222], abs=1e-5)
    assert [jump["energy"] for jump in jumps] == pytest.approx([1e-3, 2e-3], rel=0.01)


def test_jumps_below_the_limit_are_ignored() -> None:
    def jumping(r: float) -> float:
        return morse(r) + 1e-5 * (r > 5.4321)

    values = measured(engine_of(lambda: Pair(jumping, morse_slope)), energy_limit=1e-3, force_limit=1e-2)
    assert values["jumps"] == []


def test_a_path_starts_at_its_first_accepted_point() -> None:
    def close(r: float) -> float:
        if r < 1.55:
            raise ValueError("too close")
        return morse(r)

    values = measured(engine_of(lambda: Pair(close, morse_slope)))
    assert values["at"][0] == pytest.approx(0.6)
    assert values["refused"] == 6
    assert values["reason"] == "refused: ValueError: too close"
    assert values["jumps"] == []


def test_a_range_in_which_the_model_refuses_is_reported() -> None:
    def with_gap(r: float) -> float:
        if 5.02 < r < 5.08:
            raise ValueError("no table here")
        return morse(r)

    values = measured(engine_of(lambda: Pair(with_gap, morse_slope)))
    assert values["unseen"] == pytest.approx(0.1)
    assert values["refused"] >= 1


def test_roughness_beyond_the_budget_is_reported() -> None:
    def rough(r: float) -> float:
        return morse(r) + float(1e-3 * np.sin(1e5 * r))

    values = measured(engine_of(lambda: Pair(rough, morse_slope)), budget=200)
    assert values["roughness"] > 1.0
    assert (values["jumps"], values["unseen"]) == ([], 0.0)


def test_rounding_of_single_precision_is_ignored_but_a_larger_jump_is_found() -> None:
    def rounded(r: float) -> float:
        return float(np.float32(-500.0 + morse(r)))

    def stepped(r: float) -> float:
        return rounded(r) + (5e-3 if r > 4.0 else 0.0)

    values = measured(engine_of(lambda: Pair(rounded, morse_slope)), epsilon=1.2e-7)
    assert (values["jumps"], values["roughness"]) == ([], 0.0)
    assert measured(engine_of(lambda: Pair(rounded, morse_slope)), epsilon=2.2e-16)["jumps"]  # steps of 3e-5 eV
    (jump,) = measured(engine_of(lambda: Pair(stepped, morse_slope)), epsilon=1.2e-7)["jumps"]
    assert jump["at"] == pytest.approx(3.0, abs=1e-5)
    assert jump["energy"] == pytest.approx(5e-3, rel=0.1)


def test_a_path_that_is_refused_everywhere_is_a_failure() -> None:
    with pytest.raises(ModelFailure, match="fewer than three points: returned the energy nan"):
        measured(engine_of(lambda: Says(energy=np.nan)))


def test_the_scale_of_a_repulsive_curve_is_its_height() -> None:
    values = measured(engine_of(lambda: Pair(lambda r: np.exp(-r), lambda r: -np.exp(-r))))
    assert values["jumps"] == []
    assert 1e-3 < values["well"] < 1.0


def switched(width: float) -> CalculatorEngine:
    """A bond on which 0.02 eV are switched off smoothly at 4 Å, within a width (Å)."""

    def share(r: float) -> float:
        return float(np.clip((r - 4.0) / width + 0.5, 0.0, 1.0))

    def energy(r: float) -> float:
        x = share(r)
        return morse(r) + 0.02 * (1.0 - x**3 * (10.0 - 15.0 * x + 6.0 * x**2))

    def slope(r: float) -> float:
        return morse_slope(r) - 0.02 * 30.0 * (share(r) * (1.0 - share(r))) ** 2 / width

    return engine_of(lambda: Pair(energy, slope))


@pytest.mark.parametrize(("width", "found"), [(0.005, 1), (0.01, 1), (0.02, 1), (0.05, 0), (0.3, 0)])
def test_a_switch_that_is_narrower_than_a_step_of_a_simulation_is_found(width: float, found: int) -> None:
    values = measured(switched(width))
    assert values["jumps"] == []
    assert len(values["steps"]) == found
    for step in values["steps"]:
        assert step["at"] == pytest.approx(3.0, abs=width)
        assert step["energy"] == pytest.approx(0.02, rel=0.3)


def test_a_jump_far_away_is_found_in_coarse_steps_and_refusals_there_do_not_count() -> None:
    def cut(r: float) -> float:
        return morse(r) + (0.05 if r < 17.3 else 0.0)

    values = measured(engine_of(lambda: Pair(cut, morse_slope)), far=29.0, far_step=2.0)
    (jump,) = values["jumps"]
    assert jump["at"] == pytest.approx(16.3, abs=1e-5)
    assert jump["energy"] == pytest.approx(0.05, rel=1e-3)


def test_the_scale_of_a_path_over_a_barrier_is_its_height() -> None:
    hill = engine_of(lambda: Pair(lambda r: 0.3 * np.sin(np.pi * (r - 1.0) / 8.0), lambda r: 0.0))
    assert measured(hill, barrier=1.0, budget=100)["well"] == pytest.approx(0.3, rel=1e-3)


class Curve:
    """The batch evaluator of a pair potential, with the number of structures in each batch."""

    def __init__(self, energy: Callable[[float], float], slope: Callable[[float], float] = morse_slope) -> None:
        self.energy, self.slope, self.sizes = energy, slope, list[int]()

    def evaluate(self, structures: Sequence[Structure]) -> list[tuple[float, Floats]]:
        self.sizes.append(len(structures))
        lengths = [float(np.linalg.norm(s.positions[1] - s.positions[0])) for s in structures]
        return [(self.energy(r), np.array([[0, 0, 1.0], [0, 0, -1.0]]) * self.slope(r)) for r in lengths]


class Counted(Pair):
    calls = 0

    def calculate(self, *given: Any, **named: Any) -> None:
        Counted.calls += 1
        super().calculate(*given, **named)


def jumping(r: float) -> float:
    return morse(r) + 1e-3 * (r > 2.7182818)


def with_batch(energy: Callable[[float], float], batch: Curve) -> tuple[dict[str, Any], int]:
    """The path of a calculator whose model has a batch evaluator, and the number of evaluations by the calculator."""
    engine = engine_of(lambda: Counted(energy, morse_slope))
    engine.model = replace(engine.model, build_batch=lambda: batch)
    Counted.calls = 0
    return measured(engine), Counted.calls


@pytest.mark.parametrize("energy", [morse, jumping])
def test_a_batch_that_agrees_at_every_coarse_place_looks_for_the_jumps(energy: Callable[[float], float]) -> None:
    values, calls = with_batch(energy, batch := Curve(energy))
    alone = measured(engine_of(lambda: Pair(energy, morse_slope)))
    assert values["jumps"] == alone["jumps"]
    np.testing.assert_array_equal(values["energy"], alone["energy"])
    assert calls <= 81 + CONFIRMED
    assert max(batch.sizes) >= 80, "all midpoints are one batch"
    assert sum(batch.sizes) > 150
    assert "given_up" not in values["batch"]


def test_a_jump_that_only_the_calculator_has_is_found() -> None:
    values, _ = with_batch(jumping, Curve(morse))
    (jump,) = values["jumps"]
    assert 1.0 + jump["at"] == pytest.approx(2.7182818, abs=1e-5)
    assert "in a batch and alone differ" in values["batch"]["given_up"]
    (remark,) = batch_remarks([Outcome("key", OK, provenance={"batch": values["batch"]})])
    assert f"{values['batch']['alone']} structures were computed one at a time" in remark


def test_a_jump_that_only_the_batch_has_is_not_the_calculators() -> None:
    values, _ = with_batch(morse, Curve(jumping))
    assert values["jumps"] == []
    assert values["batch"]["given_up"]


def test_a_batch_that_fails_or_differs_between_coarse_places_is_not_used() -> None:
    def spike(r: float) -> float:  # narrower than the coarse steps, on the way to the jump
        return jumping(r) + 1e-2 * (2.70 < r < 2.79)

    def refusing(r: float) -> float:
        if 2.70 < r < 2.79:
            raise ValueError("not here")
        return jumping(r)

    for faulty in (spike, refusing):
        values, _ = with_batch(jumping, Curve(faulty))
        (jump,) = values["jumps"]
        assert jump["energy"] == pytest.approx(1e-3, rel=0.01)
        assert values["batch"]["given_up"]
