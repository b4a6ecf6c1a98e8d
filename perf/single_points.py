"""The time that Assay itself needs per single point, compared with a plain ASE loop. `make perf` runs this.

The calculator does nothing, so only Assay is measured: it makes structures, calls the calculator, checks the results,
and encodes and writes outcomes. CPU time of the whole process; the best of several rounds.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from assay.compute.cost import CostModel
from assay.compute.executors import open_executor
from assay.compute.runner import Runner
from assay.compute.worker import Engines, run_jobs
from assay.configurations import cluster
from assay.jobs import SinglePoints, job_key
from assay.models.loading import load_model
from assay.store import Store


class Nothing(Calculator):
    """A calculator that gives zero energy and forces and takes only the time of the base class in ASE."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms: Atoms = None, properties: object = None, system_changes: object = all_changes) -> None:
        """Copy the atoms, as every calculator does, and give zeros."""
        Calculator.calculate(self, atoms, properties, system_changes)
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}


def seconds_per_point(work: Callable[[], int], rounds: int) -> float:
    """CPU time per point (s), the best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        count = work()
        best = min(best, (time.process_time() - start) / count)
    return best


def main() -> None:
    """Print microseconds per point and ratios to the plain loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--per-job", type=int, default=100, help="structures in one job")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    body = cluster((29,), size=8)
    rng = np.random.default_rng(0)
    moved = [body.positions + rng.normal(scale=0.05, size=body.positions.shape) for _ in range(options.points)]

    def plain(calculator: Calculator) -> int:
        atoms = body.to_atoms()
        atoms.calc = calculator
        for positions in moved:
            atoms.set_positions(positions)
            atoms.get_potential_energy()
            atoms.get_forces()
        return len(moved)

    def jobs() -> list[SinglePoints]:
        structures = [body.moved(positions) for positions in moved]
        return [SinglePoints(tuple(structures[i : i + options.per_job])) for i in range(0, len(moved), options.per_job)]

    def with_assay() -> int:
        with tempfile.TemporaryDirectory() as folder:
            store = Store.create(Path(folder), "nothing")
            run_jobs(Engines(load_model(Nothing)), store, [(job_key(job, "x"), job) for job in jobs()])
            return sum(len(outcome.points()) for outcome in store.outcomes().values())

    plain_loop, assay = (seconds_per_point(work, options.rounds) for work in (lambda: plain(Nothing()), with_assay))
    print(f"{options.points} points of {len(body)} atoms, {options.per_job} in a job: made, hashed, evaluated,")
    print("checked, encoded, written to disk and read again; CPU time per point, with a calculator that does nothing")
    print(f"  plain ASE loop                 {1e6 * plain_loop:8.1f} µs")
    print(f"  Assay, in one process          {1e6 * assay:8.1f} µs   ratio {assay / plain_loop:.2f}")
    sent = through_workers(jobs()) / options.points
    print(f"  Assay, through worker processes{1e6 * sent:8.1f} µs   ratio {sent / plain_loop:.2f} (without start-up)")


def through_workers(jobs: list[SinglePoints]) -> float:
    """CPU time (s) of the parent and two workers for these jobs, minus that of a run with only the first job."""
    return _cpu_of_run(jobs) - _cpu_of_run(jobs[:1])


def _cpu_of_run(jobs: list[SinglePoints]) -> float:
    before = _cpu()
    with tempfile.TemporaryDirectory() as folder:
        model = load_model(Nothing)
        store = Store.create(Path(folder), "nothing")
        with open_executor(model, store, 2) as executor:
            cost = CostModel.of_model(model)
            cost.record_small_structures(5e-5)
            Runner(model, store, executor, cost).complete(jobs, "points")
    return _cpu() - before


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
