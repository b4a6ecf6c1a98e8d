"""Judgements of artificial runs: the event, its frame, and the published score where it exists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from assay.analysis.events import (
    BROKEN,
    COLLAPSE,
    FROZEN,
    NOT_FINITE,
    STABLE,
    STOPPED,
    TOO_COLD,
    RunJudgement,
    judge_run,
)
from assay.analysis.heat import EXPLOSION, OVERHEATING
from assay.analysis.hydrogens import FRAGMENTS, HYDROGEN_LOSS
from assay.analysis.motion import NO_PROBLEM, Problem
from assay.analysis.topology import Topology
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
MOLECULE = Topology.build(Structure.build(NUMBERS, ETHANOL), RADII, SYMBOLS)
FRAMES, FREEDOM, TARGET = 200, 27, 300.0


def run(seed: int = 0) -> tuple[Floats, Floats]:
    """A run without problems."""
    rng = np.random.default_rng(seed)
    positions = ETHANOL + 0.03 * rng.normal(size=(FRAMES, 9, 3))
    return positions, rng.chisquare(FREEDOM, FRAMES) * TARGET / FREEDOM


def judgement(
    positions: Floats, kelvin: Floats, ended: Problem = NO_PROBLEM, topology: Topology = MOLECULE, most: int = 37
) -> RunJudgement:
    def chunks() -> Iterator[tuple[Floats, Floats]]:
        for start in range(0, len(positions), most):
            yield positions[start : start + most], kelvin[start : start + most]

    return judge_run(chunks(), topology, TARGET, FRAMES, FREEDOM, ended)


def test_a_thermal_run_is_stable() -> None:
    for seed in range(10):
        assert judgement(*run(seed)) == RunJudgement(STABLE, None, "", 1.0)


@pytest.mark.parametrize("where", ["positions", "temperature"])
def test_nan_in_the_middle_of_a_run(where: str) -> None:
    positions, kelvin = run()
    (positions if where == "positions" else kelvin)[100:] = np.nan
    result = judgement(positions, kelvin)
    assert (result.kind, result.frame, result.score) == (NOT_FINITE, 100, 0.25)


def test_a_molecule_that_splits_is_a_fragmentation() -> None:
    positions, kelvin = run()
    positions[60:, [0, 3, 4, 5]] += [50.0, 0.0, 0.0]
    result = judgement(positions, kelvin)
    assert (result.kind, result.frame, result.score) == (FRAGMENTS, 60, 0.5 * 60 / FRAMES)
    assert "C0-C1" in result.reason


def test_a_ring_that_opens_is_a_broken_bond_and_no_fragmentation() -> None:
    ring = 0.88 * np.array([[np.cos(t), np.sin(t), 0.0] for t in 2.0 * np.pi * np.arange(3) / 3])
    rng = np.random.default_rng(1)
    positions = ring + 0.03 * rng.normal(size=(FRAMES, 3, 3))
    positions[150:, 2] += 2.0 * (ring[2] - ring[0])
    positions[150:, 2] = ring[1] + 1.5 * np.array([-1.0, 0.0, 0.0])
    topology = Topology.build(Structure.build([6, 6, 6], ring), np.full(3, 0.76), ["C"] * 3)
    result = judgement(positions, np.full(FRAMES, 300.0), topology=topology)
    assert (result.kind, result.frame) == (BROKEN, 150)


@pytest.mark.parametrize("factor", [0.3, 0.45])
def test_a_collapse(factor: float) -> None:
    positions, kelvin = run()
    positions[120:] *= factor
    result = judgement(positions, kelvin)
    assert (result.kind, result.frame, result.score) == (COLLAPSE, 120, 0.3)


@pytest.mark.parametrize(("kelvin", "start"), [(9000.0, 0), (9000.0, 80), (1500.0, 50)])
def test_a_run_that_stays_hot_overheats(kelvin: float, start: int) -> None:
    positions, heat = run()
    heat[start:] *= kelvin / TARGET
    result = judgement(positions, heat)
    assert result.kind == OVERHEATING
    assert result.frame == pytest.approx(start, abs=1)
    assert result.score == pytest.approx(0.5 * start / FRAMES, abs=0.003)


def test_heat_at_the_start_only_is_not_overheating() -> None:
    """A strained start warms the run until the thermostat has taken the heat away."""
    positions, heat = run()
    heat[:20] += 3000.0
    assert judgement(positions, heat).kind == STABLE


@pytest.mark.parametrize("since", [1, 77, 150])
def test_a_hydrogen_is_lost_at_a_known_frame(since: int) -> None:
    positions, kelvin = run()
    positions[since:, 8] += [-3.5, 3.0, 0.0]
    result = judgement(positions, kelvin)
    assert (result.kind, result.frame) == (HYDROGEN_LOSS, since)
    assert result.score == pytest.approx(0.5 + 0.5 * since / FRAMES)
    assert "O2-H8" in result.reason


def test_a_hydrogen_that_comes_back_is_not_lost() -> None:
    positions, kelvin = run()
    positions[50:90, 8] += [-3.5, 3.0, 0.0]
    assert judgement(positions, kelvin).kind == STABLE


def test_a_hydrogen_that_moves_to_another_heavy_atom_is_not_lost() -> None:
    positions, kelvin = run()
    positions[50:, 8] = positions[50:, 0] + [1.0, -1.0, 0.0]
    assert judgement(positions, kelvin).kind == STABLE


@pytest.mark.parametrize("after", [12_000.0, 1e6])
def test_an_explosion_at_a_known_frame(after: float) -> None:
    positions, kelvin = run()
    kelvin[140:] = after
    result = judgement(positions, kelvin)
    assert (result.kind, result.frame, result.score) == (EXPLOSION, 140, 0.35)


def test_a_jump_of_the_temperature_is_an_explosion_only_if_the_run_becomes_too_hot() -> None:
    positions, kelvin = run()
    kelvin[:20], kelvin[20:60] = 20.0, 2500.0
    assert judgement(positions, kelvin)[:2] == (EXPLOSION, 20)
    positions, kelvin = run()
    kelvin[:2] = 1.0
    assert judgement(positions, kelvin).kind == STABLE


def test_an_explosion_counts_more_than_a_hydrogen_that_was_lost_before() -> None:
    positions, kelvin = run()
    positions[40:, 8] += [-3.5, 3.0, 0.0]
    kelvin[160:] = 5e4
    assert judgement(positions, kelvin)[:2] == (EXPLOSION, 160)


def test_broken_bonds_in_the_frame_of_an_explosion_are_part_of_it() -> None:
    positions, kelvin = run()
    positions[140:] += 20.0 * np.random.default_rng(5).normal(size=positions[140:].shape)
    kelvin[140:] = 3e5
    assert judgement(positions, kelvin)[:2] == (EXPLOSION, 140)


def test_heat_shortly_before_an_explosion_is_part_of_it() -> None:
    positions, kelvin = run()
    kelvin[136:140], kelvin[140:] = [1500.0, 3000.0, 6000.0, 9000.0], 2e4
    assert judgement(positions, kelvin) == RunJudgement(EXPLOSION, 140, "the temperature is 20000 K", 0.35, 0.35)
    kelvin[100:140] = 9000.0
    assert judgement(positions, kelvin)[:2] == (OVERHEATING, 100)


@pytest.mark.parametrize("cold", [False, True])
def test_a_frozen_run_scores_zero(cold: bool) -> None:
    positions, kelvin = run()
    if cold:
        kelvin = np.full(FRAMES, 20.0)
    else:
        positions = np.tile(ETHANOL, (FRAMES, 1, 1))
    result = judgement(positions, kelvin)
    assert (result.kind, result.score) == (TOO_COLD if cold else FROZEN, 0.0)


def test_a_run_that_stopped_is_judged_by_its_frames() -> None:
    positions, kelvin = run()
    result = judgement(positions[:50], kelvin[:50], ended=Problem("returned no energy", Cause.MALFORMED))
    assert (result.kind, result.frame, result.score) == (STOPPED, 50, 0.125)
    positions[30:, 8] += [-9.0, 9.0, 0.0]
    result = judgement(positions[:50], kelvin[:50], ended=Problem("atom 8 left", Cause.ATOM_LOST))
    assert (result.kind, result.frame, result.score) == (HYDROGEN_LOSS, 30, 0.575)
    assert judgement(positions[:0], kelvin[:0], ended=Problem("refused", Cause.REFUSED)).score == 0.0


def test_the_size_of_chunks_does_not_matter() -> None:
    positions, kelvin = run()
    positions[77:, 8] += [-3.5, 3.0, 0.0]
    assert judgement(positions, kelvin, most=1) == judgement(positions, kelvin, most=1000)
    kelvin[:20] += 3000.0  # a hot start, as later chunks show
    positions[15:, [0, 3, 4, 5]] += [50.0, 0.0, 0.0]
    results = [judgement(positions, kelvin, most=most) for most in (1, 16, 1000)]
    assert [r[:2] for r in results] == [(FRAGMENTS, 15)] * 3
    positions[40:] = np.nan
    assert judgement(positions, kelvin, most=1) == judgement(positions, kelvin, most=1000)


def test_bonds_across_the_boundary_of_a_cell_are_not_broken() -> None:
    cell = 10.0 * np.eye(3)
    start = np.array([[9.6, 5.0, 5.0], [0.9, 5.0, 5.0]])
    topology = Topology.build(Structure.build([6, 8], start, cell, "TTT"), np.array([0.76, 0.66]), ["C", "O"])
    assert topology.offsets.tolist() == [[10.0, 0.0, 0.0]]
    positions = start + 0.03 * np.random.default_rng(0).normal(size=(FRAMES, 2, 3)) + 3.0
    assert judgement(positions, np.full(FRAMES, 300.0), topology=topology).kind == STABLE
    positions[99:, 1] += [2.0, 0.0, 0.0]
    assert judgement(positions, np.full(FRAMES, 300.0), topology=topology)[:2] == (FRAGMENTS, 99)


def test_a_salt_may_dissolve() -> None:
    start = np.array([[0.0, 0.0, 0.0], [2.4, 0.0, 0.0]])
    topology = Topology.build(Structure.build([11, 17], start), np.array([1.66, 1.02]), ["Na", "Cl"])
    assert len(topology.pairs) == 0
    positions = start + np.linspace(0.0, 20.0, FRAMES)[:, None, None] * [[[0, 0, 0], [1, 0, 0]]]
    assert judgement(positions, np.full(FRAMES, 300.0), topology=topology).kind == STABLE
