"""Energy curves of pairs of elements: batches in Assay compared with one structure at a time in ASE, in one run.

    python perf/diatomics.py sevennet-0 [MODEL ...] [--pairs 10 100 1000] [--workers 2]

For each model, a plain ASE loop (a new `Atoms` for each distance and one calculator, as in other tools) is measured on
some pairs after a warm-up. Then Assay runs the jobs of the benchmark `physicality.diatomics` for increasing numbers of
pairs, with workers and a new results folder each time. CPU time is that of this process and all workers, with loading
the model; `per point` is without the time of a run with no pairs. The energies of both are compared.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from ase import Atoms

from assay.benchmark import Scope, planned_cases
from assay.benchmarks.physicality.diatomics import Diatomics
from assay.compute.cost import CostModel
from assay.compute.executors import open_executor
from assay.compute.runner import Runner
from assay.compute.surveying import make_contact
from assay.jobs import Job, SinglePoints
from assay.model import Model
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.store import Store
from assay.survey import Survey


@dataclass(frozen=True)
class Cost:
    """CPU time and wall time (s)."""

    cpu: float
    wall: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.cpu - other.cpu, self.wall - other.wall)


def now() -> Cost:
    """CPU time of this process and of its finished child processes, and wall time."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Cost(sum(u.ru_utime + u.ru_stime for u in used), time.monotonic())


def jobs_of(model: Model, pairs: int) -> list[SinglePoints]:
    """The jobs of the benchmark for pairs of elements, at equal intervals in the list of all pairs."""
    elements = model.card.elements or ()
    survey = Survey(model.card, answered=elements, pbc=model.card.pbc or ("FFF",))
    cases = list(planned_cases(Diatomics(), Scope(survey)))
    places = np.unique(np.linspace(0, len(cases) - 1, min(pairs, len(cases))).round().astype(int))
    return [job for i in places for job in cases[i].jobs.values() if isinstance(job, SinglePoints)]


def plain_loop(model: Model, jobs: list[SinglePoints]) -> tuple[Cost, list[np.ndarray]]:
    """One structure after another in ASE; the first pair is also used for the warm-up."""
    calculator = model.build()

    def energies(job: SinglePoints) -> np.ndarray:
        found = []
        for s in job.structures:
            atoms = Atoms(numbers=s.numbers, positions=s.positions, cell=s.cell, pbc=s.pbc)
            atoms.info.update(s.info)
            atoms.calc = calculator
            found.append(atoms.get_potential_energy())
            atoms.get_forces()
        return np.array(found)

    energies(replace(jobs[0], structures=jobs[0].structures[::5]))
    start = now()
    found = [energies(job) for job in jobs]
    return now() - start, found


def with_assay(model: Model, jobs: Sequence[Job], workers: int) -> tuple[Cost, list[Outcome]]:
    """The jobs with runner, workers and a new results folder, as in `assay run`."""
    start = now()
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder), model.folder)
        with open_executor(model, store, workers) as executor:
            runner = Runner(model, store, executor, CostModel.of_model(model))
            make_contact(runner, model.card)
            runner.complete(jobs, "perf")
            outcomes = [runner.known[runner.key(job)] for job in jobs]
    return now() - start, outcomes


def measure(name: str, sizes: list[int], loop_pairs: int, workers: int) -> None:
    """Print the table of one model."""
    model = load_model(name)
    some = jobs_of(model, loop_pairs)
    loop, alone = plain_loop(model, some)
    points = sum(job.force_calls for job in some)
    each = 1e3 * loop.cpu / points
    nothing, _ = with_assay(model, [], workers)
    together = [np.asarray(o.values["energy"]) for o in with_assay(model, some, workers)[1]]
    print(f"\n{name}: plain ASE loop, {len(some)} pairs, {points} points: {each:.3g} ms CPU per point, "
          f"{1e3 * loop.wall / points:.3g} ms wall")  # fmt: skip
    print(f"largest difference between the energies of both: {_difference(alone, together):.1e} of |E| + 1 eV")
    print("| pairs | points | CPU (s) | wall (s) | CPU per point (ms) | less CPU than the loop |")
    print("|---:|---:|---:|---:|---:|---:|")
    print(f"| 0 | 0 | {nothing.cpu:.1f} | {nothing.wall:.1f} | | |", flush=True)
    for size in sizes:
        jobs = jobs_of(model, size)
        cost, _ = with_assay(model, jobs, workers)
        count = sum(job.force_calls for job in jobs)
        point = 1e3 * max(cost.cpu - nothing.cpu, 1e-9) / count
        print(f"| {len(jobs)} | {count} | {cost.cpu:.1f} | {cost.wall:.1f} | {point:.3g} | {each / point:.1f} × |",
              flush=True)  # fmt: skip


def _difference(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    return max(float(np.nanmax(np.abs(a - b) / (1.0 + np.abs(a)))) for a, b in zip(one, other, strict=True))


def main() -> None:
    """Measure the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--pairs", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--loop-pairs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read by torch and jax when a model is built
    for name in options.models:
        measure(name, options.pairs, options.loop_pairs, options.workers)


if __name__ == "__main__":
    main()
