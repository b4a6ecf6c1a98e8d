"""Hydrogens in water: free, handed over to another molecule, passing by, and far away."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis.events import STABLE, RunJudgement, judge_run
from assay.analysis.hydrogens import FRAGMENTS, HYDROGEN_LOSS
from assay.analysis.motion import NO_PROBLEM, Problem
from assay.analysis.topology import Topology
from assay.errors import Cause
from assay.structure import Floats, Structure

EDGE, COUNT, FRAMES = 12.4, 4, 200  # 64 molecules at the density of water
SITES = EDGE / COUNT * np.array([[i, j, k] for i in range(COUNT) for j in range(COUNT) for k in range(COUNT)])
WATER = np.array([[0.0, 0.0, 0.0], [0.76, 0.59, 0.0], [-0.76, 0.59, 0.0]])
START = (SITES[:, None] + WATER).reshape(-1, 3)
NUMBERS = [8, 1, 1] * len(SITES)
RADII = np.where(np.array(NUMBERS) == 1, 0.31, 0.66)
BOX = Topology.build(
    Structure.build(NUMBERS, START, EDGE * np.eye(3), "TTT"), RADII, ["O" if z == 8 else "H" for z in NUMBERS]
)
FREE = SITES[21] + 0.5 * EDGE / COUNT * np.array([1.0, 0.0, 1.0])
"""Between four oxygens, 2.2 Å from each; in water every place is within 2.5 Å of some oxygen."""


def run() -> tuple[Floats, Floats]:
    """Water that moves thermally."""
    rng = np.random.default_rng(0)
    freedom = 3 * len(NUMBERS)
    return START + 0.04 * rng.normal(size=(FRAMES, *START.shape)), rng.chisquare(freedom, FRAMES) * 300.0 / freedom


def judged(positions: Floats, kelvin: Floats, ended: Problem = NO_PROBLEM, most: int = 37) -> RunJudgement:
    chunks = ((positions[i : i + most], kelvin[i : i + most]) for i in range(0, len(positions), most))
    return judge_run(chunks, BOX, 300.0, FRAMES, 3 * len(NUMBERS), ended)


def placed(hydrogen: Floats, since: int) -> RunJudgement:
    """The judgement if the first hydrogen is at a place, or at one for each frame, from a frame on."""
    positions, kelvin = run()
    positions[since:, 1] = hydrogen
    results = [judged(positions, kelvin, most=most) for most in (1, 37, 1000)]
    assert results[0] == results[1] == results[2]
    return results[0]


def test_water_is_stable() -> None:
    assert judged(*run()) == RunJudgement(STABLE, None, "", 1.0, 1.0)


@pytest.mark.parametrize("since", [0, 77, 190])
def test_a_free_hydrogen_in_a_hole_of_water_is_lost(since: int) -> None:
    assert np.linalg.norm(FREE - SITES, axis=1).min() == pytest.approx(2.19, abs=0.01)
    assert np.linalg.norm(FREE - START[0]) > 2.5
    result = placed(FREE, since)
    assert (result.kind, result.frame) == (HYDROGEN_LOSS, since)
    assert result.score == result.literal_score == pytest.approx(0.5 + 0.5 * since / FRAMES)
    assert "O0-H1" in result.reason


def test_a_free_hydrogen_that_comes_nearer_to_its_atom_without_a_bond_is_still_lost() -> None:
    """FREE is beside another molecule; its place beside the own one is 2.19 Å from it, nearer than 2.5 Å."""
    since, beside = 40, FREE - SITES[21] + SITES[0]
    assert 1.46 < np.linalg.norm(beside - START[0]) < 2.5
    path = np.repeat([FREE, beside, FREE], [60, 30, FRAMES - since - 90], axis=0)
    result = placed(path, since)
    assert (result.kind, result.frame) == (HYDROGEN_LOSS, since)


def test_a_proton_that_another_molecule_takes_is_not_lost() -> None:
    result = placed(SITES[5] + np.array([0.0, -0.98, 0.0]), 60)
    assert (result.kind, result.score) == (STABLE, 1.0)
    assert result.literal_score == 0.5 + 0.5 * 60 / FRAMES, "the published rule looks only at its own atom"


def test_a_proton_in_the_next_cell_is_bonded_to_the_image_of_an_oxygen() -> None:
    assert placed(SITES[5] + np.array([0.0, -0.98, 0.0]) + [EDGE, 0.0, -EDGE], 60).kind == STABLE


def test_a_hydrogen_that_flies_through_the_liquid_is_lost_although_it_passes_oxygens() -> None:
    since = 40
    path = SITES[21] + np.array([[0.5 * step - 1.5, 0.0, -1.2] for step in range(FRAMES - since)])
    vectors = path[:, None] - SITES
    near = np.linalg.norm(vectors - EDGE * np.round(vectors / EDGE), axis=2).min(axis=1) < 1.4
    assert 0.05 < near.mean() < 0.7, "it comes within the length of a bond again and again"
    result = placed(path, since)
    assert result.kind == HYDROGEN_LOSS
    assert result.frame == pytest.approx(since, abs=4)


def test_a_hydrogen_that_finds_a_molecule_again_is_not_lost() -> None:
    positions, kelvin = run()
    positions[40:90, 1] = FREE
    positions[90:, 1] = SITES[5] + np.array([0.0, -0.98, 0.0])
    assert judged(positions, kelvin).kind == STABLE
    positions[90:, 1] = START[1]
    assert judged(positions, kelvin).kind == STABLE


def test_one_frame_on_the_way_to_another_molecule_is_no_loss() -> None:
    positions, kelvin = run()
    positions[195, 1] = FREE
    positions[196:, 1] = SITES[5] + np.array([0.0, -0.98, 0.0])
    assert judged(positions, kelvin).kind == STABLE


def test_water_that_falls_into_atoms_is_fragments() -> None:
    positions, kelvin = run()
    hydrogens = np.flatnonzero(np.array(NUMBERS) == 1)
    grid = EDGE / 6 * np.array([[i, j, k] for i in range(6) for j in range(6) for k in range(6)])
    oxygens = START[::3]
    vectors = grid[:, None] - oxygens
    far = np.linalg.norm(vectors - EDGE * np.round(vectors / EDGE), axis=2).min(axis=1) > 1.6
    free = grid[far]
    positions[20:, hydrogens] = (
        free[np.arange(len(hydrogens)) % len(free)]
        + EDGE * (np.arange(len(hydrogens)) // len(free))[:, None] * [1.0, 0.0, 0.0]
        + [3.0 * EDGE, 0.0, 0.0]
    )
    result = judged(positions, kelvin)
    assert result.kind in (FRAGMENTS, "collapse")
    assert result.score == pytest.approx(0.05)


def test_a_run_that_ends_with_a_lost_atom_needs_no_more_frames() -> None:
    positions, kelvin = run()
    positions[99, 1] = FREE
    ended = Problem("atom 1 left", Cause.ATOM_LOST)
    assert judged(positions[:100], kelvin[:100], ended)[:2] == (HYDROGEN_LOSS, 99)
