"""Rings in motion: a stiff double pyramid whose ring bends as its springs say, and models that hold or lose it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.benchmark import Observation, Scope, observe_case, planned_cases
from assay.data.dataset import Record
from assay.data.embedded import defaults
from assay.data.source import DataSource
from assay.outcome import OK, Outcome
from assay.store.trajectory import Recorder, Trajectory, trajectory_path
from assay.structure import Floats, Structure
from molecule_cases import Model, benchmark, source, survey
from run_cases import HOPELESS, observe_runs, scaled, springs

ANGLES = 2.0 * np.pi * np.arange(5) / 5
RING = np.column_stack([1.4 * np.cos(ANGLES), 1.4 * np.sin(ANGLES), np.zeros(5)])
REST = np.concatenate([RING, [[0.0, 0.0, 1.3], [0.0, 0.0, -1.3]]])
BODY = replace(Structure.build([6] * 7, REST), charge=0, spin=1)
STIFFNESS, NAME = 20.0, "ring_planarity"
SOUND = springs(REST, STIFFNESS)


def hessian(model: Model) -> Floats:
    columns = []
    for axis in np.eye(21):
        forces = [model(BODY.moved(REST + sign * 1e-4 * axis.reshape(-1, 3)))[1].ravel() for sign in (1.0, -1.0)]
        columns.append((forces[1] - forces[0]) / 2e-4)
    return np.array(columns)


def harmonic(model: Model) -> float:
    """Root mean square distance from the plane at 300 K."""
    inverse = np.linalg.pinv(hessian(model), rcond=1e-6, hermitian=True)
    flat = np.column_stack([np.ones(5), RING[:, :2]])
    out = np.eye(5) - flat @ np.linalg.pinv(flat)
    up = np.zeros((5, 21))
    up[np.arange(5), 3 * np.arange(5) + 2] = 1.0
    return float(np.sqrt(0.025852 * np.trace(out @ up @ inverse @ up.T @ out) / 5.0))


EXPECTED = harmonic(SOUND)


def data() -> DataSource:
    info = {"ring": list(range(5)), "plane_fluctuation": EXPECTED}
    return source("rings", Record("pyramids", (BODY,), info=info))


def seen(model: Model, folder: Path, steps: int = 6000) -> Observation:
    asked = benchmark(NAME, steps=steps, interval=10)
    cases = list(planned_cases(asked, Scope(survey(), data())))
    return observe_runs(asked, cases, model, folder)["pyramids"]


def score(observation: Observation) -> float:
    found = benchmark(NAME).case_score(observation)
    assert found is not None
    return found


def test_a_sound_ring_bends_as_its_springs_say(tmp_path: Path) -> None:
    found = seen(SOUND, tmp_path)
    assert found.status == OK, found.reason
    assert found.values["fluctuation_ratio"] == pytest.approx(1.0, abs=0.25)
    assert found.values["plane_rmsd_mean"] < found.values["fluctuation"] < 0.05
    assert score(found) == found.values["literal_score"] == 1.0


def test_standard_errors_are_those_of_the_amplitudes_of_two_modes(tmp_path: Path) -> None:
    """A ring of five has two modes out of its plane: in 4 ps with a friction of 2/ps 8 amplitudes in all."""
    asked = benchmark(NAME, steps=4000, interval=5, drop_start=False)
    found = observe_runs(asked, planned_cases(asked, Scope(survey(), data())), SOUND, tmp_path)["pyramids"]
    errors = {name: error or 0.0 for name, error in found.stderr.items()}
    assert errors["fluctuation_error"] == pytest.approx(0.5 / np.sqrt(8.0), rel=0.01)
    assert errors["plane_rmsd_mean"] == pytest.approx(errors["fluctuation_error"] * found.values["plane_rmsd_mean"])


def test_too_stiff_and_too_soft_are_told_apart(tmp_path: Path) -> None:
    stiff, soft = (seen(scaled(SOUND, f, f), tmp_path, 10_000) for f in (3.0, 1.0 / 3.0))
    assert stiff.values["fluctuation_ratio"] == pytest.approx(3.0**-0.5, abs=0.12)
    assert soft.values["fluctuation_ratio"] == pytest.approx(3.0**0.5, abs=0.35)
    assert max(score(stiff), score(soft)) < 0.4


def test_a_frozen_ring_fails_although_it_is_flat(tmp_path: Path) -> None:
    asked = benchmark(NAME)
    (case,) = planned_cases(asked, Scope(survey(), data()))
    recorder = Recorder(trajectory_path(tmp_path, "stuck"), 7)
    for step in range(100):
        recorder.add(REST, (float(step), 0.0, 0.27, 0.0))
    values = {"natoms": 7, "frames": 100, "expected_frames": 100, "freedom": 21, "stopped": "", "stopped_cause": ""}
    run = Outcome(
        "stuck",
        OK,
        {**values, "trajectory": recorder.finish({})},
        frames=Trajectory(trajectory_path(tmp_path, "stuck")),
    )
    found = observe_case(asked, case, {"run1": run})
    assert found.values["plane_rmsd_mean"] == pytest.approx(0.0, abs=1e-6)
    assert score(found) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("model", HOPELESS)
def test_broken_models_score_next_to_nothing(model: str, tmp_path: Path) -> None:
    found = seen(HOPELESS[model](SOUND), tmp_path, steps=2000)
    assert score(found) <= 0.1, (found.reason, found.values)


def test_six_rings_come_with_the_program() -> None:
    cases = {case.id: case for case in planned_cases(benchmark(NAME), Scope(survey((1, 6, 7, 8))))}
    assert set(cases) == {"benzene", "furan", "imidazole", "purine", "pyridine", "pyrrole"}
    assert {name: len(case.context["ring"]) for name, case in cases.items()} == {
        "benzene": 6, "furan": 5, "imidazole": 5, "purine": 9, "pyridine": 6, "pyrrole": 5,
    }  # fmt: skip
    assert all(0.02 < case.context["expected"] < 0.06 for case in cases.values())
    assert all(record.structures for data in defaults("rings") for record in data.records)
