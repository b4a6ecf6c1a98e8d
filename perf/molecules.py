"""Single points and relaxations of small molecules: batches in Assay compared with plain ASE, in one run.

    python perf/molecules.py ani-1ccx [MODEL ...] [--sizes 1000 3000 10000] [--relaxations 50] [--workers 1]

The molecules are those of H, C, N and O in the G2 set of ASE (3 to 14 atoms), each with random displacements from its
own seed; there is one job for each molecule. The plain loop (one calculator, one molecule after another;
`ase.optimize.BFGS` for relaxations) runs in a process of its own after a warm-up. Assay runs with workers and a new
results folder each time; its CPU time is that of the parent and the workers, minus that of a run without molecules.
Peak memory is that of the largest worker and of the parent, which never loads the model. It never decreases, so give
only one model to measure memory. The energies of both are compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache

import numpy as np
from diatomics import Cost, now, with_assay

from assay.compute.engines.batch_size import peak_megabytes_since_start
from assay.jobs import Relaxation, SinglePoints
from assay.models.loading import load_model
from assay.outcome import Outcome
from assay.structure import Structure

ELEMENTS = {1, 6, 7, 8}
FORCE_LIMIT, STEPS = 0.02, 200


@cache
def g2_molecules() -> list[Structure]:
    """Molecules of H, C, N and O in the G2 set."""
    from ase.collections import g2

    from assay.structure import from_atoms

    found = [from_atoms(atoms) for atoms in g2 if len(atoms) > 2 and set(atoms.numbers.tolist()) <= ELEMENTS]
    return [Structure.build(s.numbers, s.positions) for s in found]


def molecules(count: int, shaken: float) -> list[Structure]:
    """A number of molecules, with random displacements of about `shaken` (Å) for each coordinate."""
    chosen = [g2_molecules()[i % len(g2_molecules())] for i in range(count)]
    return [
        s.moved(s.positions + np.random.default_rng(i).normal(scale=shaken, size=s.positions.shape))
        for i, s in enumerate(chosen)
    ]


def plain_points(name: str, count: int) -> tuple[Cost, list[float]]:
    """Single points of one molecule after another in ASE."""
    structures, calculator = molecules(count, 0.05), load_model(name).build()

    def energy(structure: Structure) -> float:
        atoms = structure.to_atoms()
        atoms.calc = calculator
        atoms.get_forces()
        return float(atoms.get_potential_energy())

    for structure in structures[:20]:
        energy(structure)
    start = now()
    found = [energy(structure) for structure in structures]
    return now() - start, found


def plain_relaxations(name: str, count: int) -> tuple[Cost, list[tuple[float, int]]]:
    """One relaxation after another with BFGS in ASE: final energies and numbers of steps."""
    from ase.optimize import BFGS

    structures, calculator = molecules(count, 0.1), load_model(name).build()

    def relaxed(structure: Structure, steps: int) -> tuple[float, int]:
        atoms = structure.to_atoms()
        atoms.calc = calculator
        optimizer = BFGS(atoms, logfile=None)
        optimizer.run(fmax=FORCE_LIMIT, steps=steps)
        return float(atoms.get_potential_energy()), int(optimizer.nsteps)

    for structure in structures[:3]:
        relaxed(structure, 5)
    start = now()
    found = [relaxed(structure, STEPS) for structure in structures]
    return now() - start, found


def in_new_process(work: Callable, *arguments: object) -> tuple:
    """The result of the work in a new process, so that its memory is not counted for this process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return tuple(process.submit(work, *arguments).result())


def fullest(outcomes: list[Outcome]) -> float:
    """The largest memory of a worker (MB)."""
    return max(float(o.provenance["peak_memory_mb"]) for o in outcomes)


def measure_points(name: str, sizes: list[int], loop: int, workers: int, nothing: Cost) -> None:
    """Print the table of single points."""
    model = load_model(name)
    cost, alone = in_new_process(plain_points, name, loop)
    each = 1e3 * cost.cpu / loop
    print(f"\n{name}: plain ASE loop over {loop} molecules: {each:.3g} ms CPU each")
    print("| molecules | CPU (s) | wall (s) | CPU each (ms) | less CPU than the loop | worker MB | parent MB | ΔE |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in sizes:
        jobs = [SinglePoints((s,)) for s in molecules(size, 0.05)]
        used, outcomes = with_assay(model, jobs, workers)
        point = 1e3 * max(used.cpu - nothing.cpu, 1e-9) / size
        energies = [float(np.asarray(o.values["energy"])[0]) for o in outcomes[:loop]]
        apart = max(abs(a - b) for a, b in zip(alone, energies, strict=False))
        peak = peak_megabytes_since_start()
        print(f"| {size} | {used.cpu:.1f} | {used.wall:.1f} | {point:.3g} | {each / point:.1f} × "
              f"| {fullest(outcomes):.0f} | {peak:.0f} | {apart:.1e} eV |", flush=True)  # fmt: skip


def measure_relaxations(name: str, count: int, workers: int, nothing: Cost) -> None:
    """Print the comparison of relaxations."""
    model = load_model(name)
    cost, alone = in_new_process(plain_relaxations, name, count)
    jobs = [Relaxation(s, force_limit=FORCE_LIMIT, steps=STEPS) for s in molecules(count, 0.1)]
    used, outcomes = with_assay(model, jobs, workers)
    cpu = max(used.cpu - nothing.cpu, 1e-9)
    ours = [(float(o.values["energy"]), int(o.values["steps"])) for o in outcomes]
    apart = sorted(abs(a[0] - b[0]) for a, b in zip(alone, ours, strict=True))
    alike = sum(a[1] == b[1] for a, b in zip(alone, ours, strict=True))
    print(f"{count} relaxations, {sum(b[1] for b in ours)} steps: BFGS of ASE {cost.cpu:.1f} s CPU, Assay {cpu:.1f} s: "
          f"{cost.cpu / cpu:.1f} × less; same number of steps in {alike} of {count}, final energies differ by "
          f"{apart[count // 2]:.1e} eV (median), {apart[-1]:.1e} eV at most", flush=True)  # fmt: skip


def main() -> None:
    """Measure the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--loop", type=int, default=300, help="molecules of the plain loop")
    parser.add_argument("--relaxations", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read by torch and jax when a model is built
    for name in options.models:
        nothing = min((with_assay(load_model(name), [], options.workers)[0] for _ in range(2)), key=lambda c: c.cpu)
        if options.sizes:
            measure_points(name, sorted(options.sizes), options.loop, options.workers, nothing)
        if options.relaxations:
            measure_relaxations(name, options.relaxations, options.workers, nothing)


if __name__ == "__main__":
    main()
