"""A box of water, simulated: a hydrogen that becomes free is lost, one that changes to another molecule is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Scope, planned_cases
from assay.benchmarks.registry import registered_benchmarks
from assay.data.dataset import Record
from assay.model import ModelCard
from assay.observation import Observation
from assay.structure import Floats, Structure
from assay.survey import Survey
from molecule_cases import Model, source
from run_cases import observe_runs

EDGE, COUNT = 9.3, 3
SITES = EDGE / COUNT * np.array([[i, j, k] for i in range(COUNT) for j in range(COUNT) for k in range(COUNT)])
WATER = np.array([[0.0, 0.0, 0.0], [0.76, 0.59, 0.0], [-0.76, 0.59, 0.0]])
START = (SITES[:, None] + WATER).reshape(-1, 3)
BOX = replace(Structure.build([8, 1, 1] * len(SITES), START, EDGE * np.eye(3), "TTT"), charge=0, spin=1)
OTHER = SITES[13]
FREE, TAKEN = OTHER + 0.5 * EDGE / COUNT * np.array([1.0, 0.0, 1.0]), OTHER + np.array([0.0, -0.98, 0.0])


def tethered(place: Floats | None = None, after: int = 300) -> Model:
    """Atoms on springs of 8 eV/Å²; from a call on the first hydrogen is drawn to another place instead."""
    calls = 0

    def model(s: Structure) -> tuple[float, Floats]:
        nonlocal calls
        calls += 1
        goal = START.copy()
        if place is not None and calls > after:
            goal[1] = START[1] + min((calls - after) / 200.0, 1.0) * (place - START[1])
        away = s.positions - goal
        return 4.0 * float((away**2).sum()), -8.0 * away

    return model


def seen(model: Model, folder: Path) -> Observation:
    asked = registered_benchmarks()["general.stability"](steps=1500, interval=10)
    survey = Survey(ModelCard("w", elements=(1, 8)), answered=(1, 8), pbc=("FFF", "TTT"))
    cases = list(planned_cases(asked, Scope(survey, source("stability", Record("water", (BOX,))))))
    return observe_runs(asked, cases, model, folder)["water"]


@pytest.mark.parametrize(("place", "kind"), [(None, "stable"), (FREE, "hydrogen loss"), (TAKEN, "stable")])
def test_only_a_free_hydrogen_is_lost(place: Floats | None, kind: str, tmp_path: Path) -> None:
    found = seen(tethered(place), tmp_path)
    (verdict,) = found.detail["verdicts"]
    assert verdict["kind"] == kind, verdict
    if kind == "stable":
        assert found.values["stability"] == found.values["survived"] == 1.0
    else:
        assert 30 < verdict["frame"] < 60
        assert found.values["stability"] == pytest.approx(0.5 + 0.5 * verdict["frame"] / 151)
    assert (found.values["literal_score"] == 1.0) == (place is None)


def test_water_whose_atoms_repel_each_other_scores_next_to_nothing(tmp_path: Path) -> None:
    def repulsive(s: Structure) -> tuple[float, Floats]:
        vectors = s.positions[:, None] - s.positions
        vectors -= EDGE * np.round(vectors / EDGE)
        squares = (vectors**2).sum(axis=2) + np.eye(len(s))
        weights = np.exp(-squares / 4.0) * (1.0 - np.eye(len(s)))
        return float(weights.sum() / 2.0), (0.5 * weights[:, :, None] * vectors).sum(axis=1)

    found = seen(repulsive, tmp_path)
    assert found.values["stability"] < 0.1, found.reason
