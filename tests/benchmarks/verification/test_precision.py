"""Models in single precision are judged as such however their results look, and no others are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase import Atoms

from assay.api import Settings, run, surveyed
from assay.benchmarks.bases.derivative import judge_derivatives
from assay.benchmarks.bases.limits import Limits
from assay.benchmarks.registry import registered_benchmarks
from assay.sabotage import BROKEN, SOUND
from assay.sabotage.sound import CopperGold, Values
from assay.score import grade

WRAPPERS = Path(__file__).parents[2] / "broken" / "sound_wrappers.py"
MANDATORY = [name for name, kind in registered_benchmarks().items() if getattr(kind, "mandatory", False)]
NAMES = ("Accumulated", "AccumulatedWithOffset", "RoundedTerms", "Wrapped", "summed", "combined")


def precision(model: object) -> str:
    return surveyed(model, None, Settings(workers=0)).precision


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_model_in_single_precision_passes_whatever_its_results_look_like(name: str) -> None:
    report = run(f"{WRAPPERS}:{name}", benchmarks=MANDATORY, workers=0)
    assert report.passed
    assert len(report.checks) == len(MANDATORY)
    assert {k: v["comment"] for k, v in report.checks.items() if v["status"] == "failed"} == {}
    assert report.result.description["survey"]["precision"] == "float32"


@pytest.mark.parametrize("name", ["not_rotation_invariant", "tiny_noise", "discontinuous_at_cutoff", "external_field"])
def test_a_wrong_model_in_double_precision_is_not_excused(name: str) -> None:
    assert precision(BROKEN[name].build) == "float64"


class Decimals(CopperGold):
    """Results pass through text with six decimals."""

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        return Values(round(energy, 6), np.round(forces, 6), virial)


class Coordinates(CopperGold):
    """Coordinates are rounded to single precision."""

    def evaluate(self, atoms: Atoms) -> Values:
        rounded = atoms.copy()
        rounded.positions = atoms.positions.astype(np.float32)
        return super().evaluate(rounded)


class Claimed(CopperGold):
    """Claims to work in single precision."""

    claims = {"elements": ("Cu", "Au"), "precision": "float32"}  # type: ignore[assignment]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(("Cu", "Au"))


@pytest.mark.parametrize("model", [Decimals, Coordinates, CopperGold, SOUND["emt"]])
def test_text_and_rounded_coordinates_are_not_single_precision(model: object) -> None:
    assert precision(model) == "float64"


def test_a_claimed_precision_is_used() -> None:
    assert precision(Claimed) == "float32"


def test_rounded_coordinates_are_named_as_the_cause() -> None:
    report = run(Coordinates, benchmarks=["verification.translation_invariance"], workers=0)
    assert "coordinates rounded to single precision" in report.checks["translation_invariance"]["comment"]
    moved = run(BROKEN["external_field"].build, benchmarks=["verification.translation_invariance"], workers=0)
    assert moved.checks["translation_invariance"]["status"] == "failed"
    assert "rounded" not in moved.checks["translation_invariance"]["comment"]


@pytest.mark.parametrize(("name", "cause"), [("wrong_sign_forces", "sign is reversed"), ("mixed_units", "kcal/mol")])
def test_wrong_forces_are_shown_with_the_slope_and_their_ratio(name: str, cause: str) -> None:
    comment = run(BROKEN[name].build, benchmarks=["verification.forces_match_energy"], workers=0).checks[
        "forces_match_energy"
    ]["comment"]
    assert "−dE/dx" in comment
    assert cause in comment


class RoundedTotals(CopperGold):
    """Totals of tens of keV, rounded to single precision: the slope of the energy is lost."""

    sign = 1.0

    def evaluate(self, atoms: Atoms) -> Values:
        energy, forces, virial = super().evaluate(atoms)
        return Values(float(np.float32(energy - 3e4 * len(atoms))), self.sign * forces, virial)


class RoundedTotalsWrongSign(RoundedTotals):
    """The same with forces of the wrong sign."""

    sign = -1.0


def test_forces_that_rounding_hides_are_not_resolved_and_get_no_letter() -> None:
    verdict = run(RoundedTotals, benchmarks=["verification.forces_match_energy"], workers=0).checks[
        "forces_match_energy"
    ]
    assert (verdict["status"], verdict["passed"], verdict["grade"]) == ("unsupported", None, None)
    assert "not resolved" in verdict["comment"]


def test_limits_do_not_grow_with_the_energy_of_lone_atoms() -> None:
    plain, inner = Limits("float64", 0.0, 0.0), Limits("float64", 0.0, 0.0, lone_energy=-3e4)
    assert inner.energy("", 0.0, -18e4 - 20.0, 6).tolerance == pytest.approx(plain.energy("", 0.0, -20.0, 6).tolerance)
    single = Limits("float32", 0.0, 0.0, lone_energy=-3e4)
    assert single.energy("", 0.0, -18e4, 6).tolerance == pytest.approx(8 * 1.2e-7 * 18e4), (
        "rounding of the total passes"
    )


def test_forces_off_by_one_percent_get_no_a_however_rough_the_energy_is() -> None:
    errors, rough = np.array([0.01, 0.001, 0.002]), np.full(3, 0.5)
    judged = judge_derivatives(errors, rough, np.zeros(3), 1.0, 3e-3, 1e-5)
    assert judged.error <= judged.allowed
    assert grade(judged.error, judged.floor, judged.allowed) > "A"
    exact = judge_derivatives(1e-5 * errors, 1e-6 * rough, np.zeros(3), 1.0, 3e-3, 1e-5)
    assert grade(exact.error, exact.floor, exact.allowed) == "A"
