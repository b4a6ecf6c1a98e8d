"""A program that makes and judges a run of so many frames and prints the most memory it has held (MB) on the way.

    python long_runs.py simulated|written FRAMES FOLDER

`simulated` runs the simulation, a frame a step, `written` only writes frames like those of one, which is quicker. Both
are then read and judged by two benchmarks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.benchmark import Benchmark, Scope, registered_benchmarks
from assay.data.dataset import Record
from assay.jobs import Dynamics
from assay.outcome import OK, Outcome, Point
from assay.protocols import carry_out
from assay.protocols.dynamics import run_dynamics
from assay.structure import Structure
from assay.trajectory import Recorder, trajectory_path
from assay.units import BOLTZMANN
from molecule_cases import source, survey
from run_cases import springs

ANGLES = 2.0 * np.pi * np.arange(5) / 5
RING = np.column_stack([1.4 * np.cos(ANGLES), 1.4 * np.sin(ANGLES), np.zeros(5)])
REST = np.concatenate([RING, [[0.0, 0.0, 1.3], [0.0, 0.0, -1.3]]])
BODY = replace(Structure.build([6] * 7, REST), charge=0, spin=1)
INFO = {"ring": list(range(5)), "plane_fluctuation": 0.05, "description": "a double pyramid of springs"}


def peak() -> float:
    """The most memory (MB) that this program has held; what its parent held does not count."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def simulated(job: Dynamics, recorder: Recorder) -> dict[str, object]:
    """The run by the protocol, with springs for a model."""
    model = springs(REST)

    def answer(structures: Sequence[Structure]) -> list[Point]:
        return [Point(*model(structure)) for structure in structures]

    ending = carry_out(run_dynamics(job, recorder), answer)
    assert ending.status == OK, ending.reason
    return ending.values


def written(job: Dynamics, recorder: Recorder) -> dict[str, object]:
    """Frames of the right temperature about the structure at rest."""
    random, mean = np.random.default_rng(0), 1.5 * 7 * BOLTZMANN * 300.0
    for step in range(job.steps + 1):
        heat = mean * random.gamma(10.5, 1.0 / 10.5)
        if recorder.add(REST + 0.03 * random.standard_normal((7, 3)), (step, 0.0, heat, 0.0)):
            recorder.save({"step": step})
    frames = job.steps + 1
    counts = {"natoms": 7, "frames": frames, "expected_frames": frames, "freedom": 21, "stopped": ""}
    return {**counts, "trajectory": recorder.finish({"step": job.steps})}


def measured(how: str, frames: int, folder: Path) -> dict[str, float]:
    """Peaks (MB) after the run was made and after it was judged."""
    (folder / "trajectories").mkdir(parents=True)
    settings = {"steps": frames - 1, "interval": 1}
    rings = registered_benchmarks()["molecules.ring_planarity"](**settings, until_error=1e-12)
    stability = registered_benchmarks()["general.stability"](**settings)
    job = _case(rings, "rings").jobs["run1"]
    assert isinstance(job, Dynamics)
    make = {"simulated": simulated, "written": written}[how]
    outcome = Outcome("run", OK, make(job, Recorder(trajectory_path(folder, "run"), 7)), folder=folder)
    made = peak()
    for benchmark, kind in ((rings, "rings"), (stability, "stability")):
        seen = benchmark.observe(_case(benchmark, kind), {"run1": outcome})
        assert seen.status == OK, seen.reason
    assert seen.values["survived"] == 1.0, seen.reason
    return {"frames": len(outcome.trajectory()), "made": made, "judged": peak()}


def _case(benchmark: Benchmark, kind: str):  # type: ignore[no-untyped-def]
    return next(iter(benchmark.cases(Scope(survey(), None, source(kind, Record("pyramids", (BODY,), info=INFO))))))


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
