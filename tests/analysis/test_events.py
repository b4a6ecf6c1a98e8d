"""Verdicts on made-up runs: what happened, in which frame, and the published score where it applies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from assay.analysis.events import (
    BROKEN,
    COLLAPSE,
    FRAGMENTS,
    FROZEN,
    HYDROGEN_LOSS,
    NOT_FINITE,
    STABLE,
    STOPPED,
    Body,
    RunJudgement,
    judge_run,
)
from assay.analysis.heat import EXPLOSION, OVERHEATING
from assay.analysis.motion import NO_PROBLEM, Problem
from assay.errors import Cause
from assay.structure import Floats, Structure

# ethanol: C C O, then the hydrogens of each
ETHANOL = np.array([
    [1.168, -0.387, 0.000], [0.000, 0.564, 0.000], [-1.190, -0.203, 0.000], [2.104, 0.173, 0.000],
    [1.138, -1.023, 0.885], [1.138, -1.023, -0.885], [0.043, 1.208, 0.887], [0.043, 1.208, -0.887],
    [-1.929, 0.390, 0.000],
])  # fmt: skip
NUMBERS = [6, 6, 8, 1, 1, 1, 1, 1, 1]
RADII = np.array([{1: 0.31, 6: 0.76, 8: 0.66}[z] for z in NUMBERS])
SYMBOLS = ["C", "C", "O", *"HHHHHH"]
BODY = Body.build(Structure.build(NUMBERS, ETHANOL), RADII, SYMBOLS)
FRAMES, FREEDOM, TARGET = 200, 27, 300.0


def run(seed: int = 0) -> tuple[Floats, Floats]:
    """A run to which nothing happens."""
    rng = np.random.default_rng(seed)
    positions = ETHANOL + 0.03 * rng.normal(size=(FRAMES, 9, 3))
    return positions, rng.chisquare(FREEDOM, FRAMES) * TARGET / FREEDOM


def verdict(
    positions: Floats, kelvin: Floats, ended: Problem = NO_PROBLEM, body: Body = BODY, most: int = 37
) -> RunJudgement:
    def chunks() -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, len(positions), most):
            yield positions[start : start + most], kelvin[start : start + most]

    return judge_run(chunks(), body, TARGET, FRAMES, FREEDOM, ended)


def test_the_bonds_of_ethanol_are_found() -> None:
    assert len(BODY.pairs) == 8
    assert int(BODY.with_hydrogen.sum()) == 6


def test_nothing_happens_to_a_thermal_run() -> None:
    for seed in range(10):
        assert verdict(*run(seed)) == RunJudgement(STABLE, None, "", 1.0)


@pytest.mark.parametrize("where", ["positions", "temperature"])
def test_nan_from_the_middle(where: str) -> None:
    positions, kelvin = run()
    (positions if where == "positions" else kelvin)[100:] = np.nan
    found = verdict(positions, kelvin)
    assert (found.kind, found.frame, found.score) == (NOT_FINITE, 100, 0.25)


def test_a_molecule_torn_apart() -> None:
    positions, kelvin = run()
    positions[60:, [0, 3, 4, 5]] += [50.0, 0.0, 0.0]
    found = verdict(positions, kelvin)
    assert (found.kind, found.frame, found.score) == (FRAGMENTS, 60, 0.5 * 60 / FRAMES)
    assert "C0-C1" in found.reason


def test_a_ring_that_opens_is_broken_but_in_one_piece() -> None:
    ring = 0.88 * np.array([[np.cos(t), np.sin(t), 0.0] for t in 2.0 * np.pi * np.arange(3) / 3])
    rng = np.random.default_rng(1)
    positions = ring + 0.03 * rng.normal(size=(FRAMES, 3, 3))
    positions[150:, 2] += 2.0 * (ring[2] - ring[0])
    positions[150:, 2] = ring[1] + 1.5 * np.array([-1.0, 0.0, 0.0])
    body = Body.build(Structure.build([6, 6, 6], ring), np.full(3, 0.76), ["C"] * 3)
    found = verdict(positions, np.full(FRAMES, 300.0), body=body)
    assert (found.kind, found.frame) == (BROKEN, 150)


@pytest.mark.parametrize("factor", [0.3, 0.45])
def test_a_collapse(factor: float) -> None:
    positions, kelvin = run()
    positions[120:] *= factor
    found = verdict(positions, kelvin)
    assert (found.kind, found.frame, found.score) == (COLLAPSE, 120, 0.3)


@pytest.mark.parametrize(("kelvin", "start"), [(9000.0, 0), (9000.0, 80), (1500.0, 50)])
def test_heat_that_stays(kelvin: float, start: int) -> None:
    positions, heat = run()
    heat[start:] *= kelvin / TARGET
    found = verdict(positions, heat)
    assert found.kind == OVERHEATING
    assert found.frame == pytest.approx(start, abs=1)
    assert found.score == pytest.approx(0.5 * start / FRAMES, abs=0.003)


def test_heat_that_goes_is_none() -> None:
    """A strained start warms the run until the thermostat has taken the heat away."""
    positions, heat = run()
    heat[:20] += 3000.0
    assert verdict(positions, heat).kind == STABLE


@pytest.mark.parametrize("since", [1, 77, 150])
def test_a_hydrogen_is_lost_at_a_known_frame(since: int) -> None:
    positions, kelvin = run()
    positions[since:, 8] += [-3.5, 3.0, 0.0]
    found = verdict(positions, kelvin)
    assert (found.kind, found.frame) == (HYDROGEN_LOSS, since)
    assert found.score == pytest.approx(0.5 + 0.5 * since / FRAMES)
    assert "O2-H8" in found.reason


def test_a_hydrogen_that_comes_back_is_not_lost() -> None:
    positions, kelvin = run()
    positions[50:90, 8] += [-3.5, 3.0, 0.0]
    assert verdict(positions, kelvin).kind == STABLE


def test_a_hydrogen_that_moves_to_another_heavy_atom_is_not_lost() -> None:
    positions, kelvin = run()
    positions[50:, 8] = positions[50:, 0] + [1.0, -1.0, 0.0]
    assert verdict(positions, kelvin).kind == STABLE


@pytest.mark.parametrize("after", [12_000.0, 1e6])
def test_an_explosion_at_a_known_frame(after: float) -> None:
    positions, kelvin = run()
    kelvin[140:] = after
    found = verdict(positions, kelvin)
    assert (found.kind, found.frame, found.score) == (EXPLOSION, 140, 0.35)


def test_a_leap_from_almost_nothing_to_much_is_an_explosion_but_to_normal_is_not() -> None:
    positions, kelvin = run()
    kelvin[:20], kelvin[20:60] = 20.0, 2500.0
    assert verdict(positions, kelvin)[:2] == (EXPLOSION, 20)
    positions, kelvin = run()
    kelvin[:2] = 1.0
    assert verdict(positions, kelvin).kind == STABLE


def test_an_explosion_outranks_a_hydrogen_that_was_lost_before() -> None:
    positions, kelvin = run()
    positions[40:, 8] += [-3.5, 3.0, 0.0]
    kelvin[160:] = 5e4
    assert verdict(positions, kelvin)[:2] == (EXPLOSION, 160)


def test_an_explosion_that_throws_atoms_about_is_an_explosion() -> None:
    positions, kelvin = run()
    positions[140:] += 20.0 * np.random.default_rng(5).normal(size=positions[140:].shape)
    kelvin[140:] = 3e5
    assert verdict(positions, kelvin)[:2] == (EXPLOSION, 140)


def test_the_heat_of_an_explosion_is_part_of_it_unless_it_has_lasted() -> None:
    positions, kelvin = run()
    kelvin[136:140], kelvin[140:] = [1500.0, 3000.0, 6000.0, 9000.0], 2e4
    assert verdict(positions, kelvin) == RunJudgement(EXPLOSION, 140, "the temperature is 20000 K", 0.35)
    kelvin[100:140] = 9000.0
    assert verdict(positions, kelvin)[:2] == (OVERHEATING, 100)


@pytest.mark.parametrize("cold", [False, True])
def test_a_frozen_run_scores_nothing(cold: bool) -> None:
    positions, kelvin = run()
    if cold:
        kelvin = np.full(FRAMES, 20.0)
    else:
        positions = np.tile(ETHANOL, (FRAMES, 1, 1))
    found = verdict(positions, kelvin)
    assert (found.kind, found.score) == (FROZEN, 0.0)


def test_a_run_that_stopped_is_judged_by_its_frames() -> None:
    positions, kelvin = run()
    found = verdict(positions[:50], kelvin[:50], ended=Problem("returned no energy", Cause.MALFORMED))
    assert (found.kind, found.frame, found.score) == (STOPPED, 50, 0.125)
    positions[30:, 8] += [-9.0, 9.0, 0.0]
    found = verdict(positions[:50], kelvin[:50], ended=Problem("atom 8 left", Cause.ATOM_LOST))
    assert (found.kind, found.frame, found.score) == (HYDROGEN_LOSS, 30, 0.575)
    assert verdict(positions[:0], kelvin[:0], ended=Problem("refused", Cause.REFUSED)).score == 0.0


def test_the_size_of_chunks_does_not_matter() -> None:
    positions, kelvin = run()
    positions[77:, 8] += [-3.5, 3.0, 0.0]
    assert verdict(positions, kelvin, most=1) == verdict(positions, kelvin, most=1000)
    kelvin[:20] += 3000.0  # goes, as later pieces show
    positions[15:, [0, 3, 4, 5]] += [50.0, 0.0, 0.0]
    found = [verdict(positions, kelvin, most=most) for most in (1, 16, 1000)]
    assert [v[:2] for v in found] == [(FRAGMENTS, 15)] * 3
    positions[40:] = np.nan
    assert verdict(positions, kelvin, most=1) == verdict(positions, kelvin, most=1000)


def test_bonds_across_the_wall_of_a_cell_are_not_broken_by_it() -> None:
    cell = 10.0 * np.eye(3)
    start = np.array([[9.6, 5.0, 5.0], [0.9, 5.0, 5.0]])
    body = Body.build(Structure.build([6, 8], start, cell, "TTT"), np.array([0.76, 0.66]), ["C", "O"])
    assert body.offsets.tolist() == [[10.0, 0.0, 0.0]]
    positions = start + 0.03 * np.random.default_rng(0).normal(size=(FRAMES, 2, 3)) + 3.0
    assert verdict(positions, np.full(FRAMES, 300.0), body=body).kind == STABLE
    positions[99:, 1] += [2.0, 0.0, 0.0]
    assert verdict(positions, np.full(FRAMES, 300.0), body=body)[:2] == (FRAGMENTS, 99)


def test_a_salt_may_dissolve() -> None:
    start = np.array([[0.0, 0.0, 0.0], [2.4, 0.0, 0.0]])
    body = Body.build(Structure.build([11, 17], start), np.array([1.66, 1.02]), ["Na", "Cl"])
    assert len(body.pairs) == 0
    positions = start + np.linspace(0.0, 20.0, FRAMES)[:, None, None] * [[[0, 0, 0], [1, 0, 0]]]
    assert verdict(positions, np.full(FRAMES, 300.0), body=body).kind == STABLE
