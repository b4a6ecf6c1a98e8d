"""Simulations for tests: every job of a case run with a model that is a function, its trajectory kept in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from assay.benchmark import Benchmark, Case, Observation, observe_case
from assay.compute.protocols import carry_out, protocol
from assay.compute.protocols.dynamics import run_dynamics
from assay.jobs import Dynamics
from assay.outcome import Outcome, Point
from assay.store.trajectory import Recorder, Trajectory, trajectory_path
from assay.structure import Floats, Structure
from molecule_cases import Model, _point


def run_case(case: Case, model: Model, folder: Path) -> dict[str, Outcome]:
    """What a model makes of the jobs of a case."""

    def answer(structures: Sequence[Structure]) -> list[Point]:
        return [_point(model, structure) for structure in structures]

    found = {}
    (folder / "trajectories").mkdir(parents=True, exist_ok=True)
    for role, job in case.jobs.items():
        key = hashlib.sha256(f"{case.id} {role}".encode()).hexdigest()[:20]
        if isinstance(job, Dynamics):
            path = trajectory_path(folder, key)
            path.unlink(missing_ok=True)
            ending = carry_out(run_dynamics(job, Recorder(path, len(job.structure))), answer)
        else:
            ending = carry_out(protocol(job), answer)
        frames = Trajectory(trajectory_path(folder, key)) if isinstance(job, Dynamics) else None
        found[role] = Outcome(key, ending.status, ending.values, ending.reason, cause=ending.cause, frames=frames)
    return found


def observe_runs(benchmark: Benchmark, cases: Sequence[Case], model: Model, folder: Path) -> dict[str, Observation]:
    """Every case of a benchmark, simulated with a model."""
    return {case.id: observe_case(benchmark, case, run_case(case, model, folder)) for case in cases}


def springs(rest: Floats, stiffness: float = 20.0, pairs: Sequence[tuple[int, int]] | None = None) -> Model:
    """Distances held by springs (eV/Å²) at those of a geometry; all of them, unless pairs are named."""
    i, j = np.triu_indices(len(rest), 1) if pairs is None else np.array(pairs).T
    lengths = np.linalg.norm(rest[i] - rest[j], axis=1)

    def model(s: Structure) -> tuple[float, Floats]:
        arms = s.positions[i] - s.positions[j]
        found = np.linalg.norm(arms, axis=1)
        pull = (stiffness * (found - lengths) / found)[:, None] * arms
        forces = np.zeros_like(s.positions)
        np.add.at(forces, i, -pull)
        np.add.at(forces, j, pull)
        return 0.5 * stiffness * float(((found - lengths) ** 2).sum()), forces

    return model


def scaled(model: Model, energy: float, forces: float) -> Model:
    """A model with its energy and its forces multiplied."""

    def other(s: Structure) -> tuple[float, Floats]:
        e, f = model(s)
        return energy * e, forces * f

    return other


def failing_after(model: Model, calls: int) -> Model:
    """A model that gives NaN after so many calls."""
    seen = 0

    def other(s: Structure) -> tuple[float, Floats]:
        nonlocal seen
        seen += 1
        e, f = model(s)
        return (e, f) if seen <= calls else (float("nan"), np.full_like(f, np.nan))

    return other


def noisy(size: float) -> Model:
    """Random forces (eV/Å)."""
    rng = np.random.default_rng(0)
    return lambda s: (float(rng.normal()), size * rng.normal(size=(len(s), 3)))


Broken = Callable[[Model], Model]
HOPELESS: dict[str, Broken] = {
    "zero_force": lambda m: scaled(m, 1.0, 0.0),
    "frozen": lambda m: scaled(m, 0.0, 0.0),
    "wrong_sign_forces": lambda m: scaled(m, 1.0, -1.0),
    "nan_after": lambda m: failing_after(m, 20),
    "pure_noise": lambda m: noisy(5.0),
}
"""Sabotage that no benchmark of motion may miss."""
