"""Molecular dynamics of 14 small molecules: side by side in batches against one after another in plain ASE, in one run.

    python perf/dynamics.py ani-1ccx aimnet2 mace-off23-small [--steps 500]
    python perf/dynamics.py --loop

The molecules are six rings and eight others of ASE's G2 set (4 to 12 atoms of H, C, N and O), at 300 K, 1 fs, with the
same friction. Plain ASE is its `Langevin` with one calculator. Assay runs the same steps in one process through its
engines, frames to disk included. `--loop` measures what a step costs besides the model, with a calculator that does
nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ase.calculators.calculator import Calculator, all_changes

from assay.jobs import Dynamics, job_key
from assay.model import Model, load_model
from assay.store import Store
from assay.structure import Structure, from_atoms
from assay.worker import Engines, run_jobs

NAMES = (
    "C6H6", "C4H4O", "C4H4NH", "C5H5N", "CH3CHO", "C2H6", "C2H4", "C2H2", "CH3NH2", "CH3CN", "CH3OH", "H2CO", "HCOOH",
    "CH3CH2OH",
)  # fmt: skip


class Nothing(Calculator):
    """Costs nothing and says nothing."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms=None, properties=(), system_changes=all_changes):  # type: ignore[no-untyped-def]
        self.atoms = atoms
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}


def molecules() -> list[Structure]:
    """The fourteen."""
    from ase.build import molecule

    known = {"CH3NH2": "H3CNH2"}
    found = [from_atoms(molecule(known.get(name, name))) for name in NAMES]
    return [Structure.build(s.numbers, s.positions) for s in found]


def plain(calculator: Calculator, structures: Sequence[Structure], steps: int) -> float:
    """CPU seconds of ASE's Langevin, one molecule after another."""
    from ase import units
    from ase.md.langevin import Langevin
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution

    total = 0.0
    for structure in structures:
        atoms = structure.to_atoms()
        atoms.calc = calculator
        MaxwellBoltzmannDistribution(atoms, temperature_K=300, rng=np.random.default_rng(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = Langevin(atoms, units.fs, temperature_K=300, friction=0.002 / units.fs)
        run.run(3)
        started = time.process_time()
        run.run(steps)
        total += time.process_time() - started
    return total


def with_assay(model: Model, structures: Sequence[Structure], steps: int, engines: Engines) -> tuple[float, float]:
    """CPU seconds of the same steps as jobs, and the share of evaluations that were made in batches."""
    jobs = [Dynamics(s, steps=steps, interval=10, seed=steps) for s in structures]
    started = time.process_time()
    statuses = run_jobs(engines, Store(engines.single.folder), [(job_key(job, "perf"), job) for job in jobs])
    seconds = time.process_time() - started
    bad = [status for _, status in statuses if status != "ok"]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(jobs)} runs ended as {bad[0]}")
    outcomes = Store(engines.single.folder).outcomes().values()
    batches = [o.provenance.get("batch", {"structures": 0, "alone": 1}) for o in outcomes]
    together, alone = (sum(b[name] for b in batches) for name in ("structures", "alone"))
    return seconds, together / (together + alone)


def compare(name: str, steps: int) -> None:
    """One model: both ways, same molecules, same steps."""
    structures, model = molecules(), load_model(name)
    loop = plain(model.build(), structures, steps)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outcomes").mkdir()
        engines = Engines(model, Path(folder))
        with_assay(model, structures, 20, engines)  # loads the model, compiles, and finds the size of batches
        ours, share = with_assay(model, structures, steps, engines)
    each = 1e3 / (len(structures) * steps)
    print(f"| {name} | {each * loop:.2f} | {each * ours:.2f} | {loop / ours:.1f} × | {100 * share:.0f} % |", flush=True)


def loop_cost(steps: int = 5000) -> None:
    """What a step costs besides the model."""
    structures, model = molecules()[:1], load_model(Nothing)
    ase = plain(Nothing(), structures, steps)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outcomes").mkdir()
        engines = Engines(model, Path(folder))
        jobs = [Dynamics(s, steps=steps, interval=10, temperature=1.0) for s in structures]
        started = time.process_time()
        run_jobs(engines, Store(Path(folder)), [(job_key(job, "perf"), job) for job in jobs])
        ours = time.process_time() - started
    print(f"a step besides the model, {len(structures[0])} atoms: ASE {1e6 * ase / steps:.0f} µs, Assay "
          f"{1e6 * ours / steps:.0f} µs: {ours / ase:.2f} of it")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--loop", action="store_true", help="cost of a step with a calculator that does nothing")
    given = parser.parse_args()
    if given.loop or not given.models:
        loop_cost()
    if given.models:
        print("| model | ASE, ms CPU per step | Assay | less CPU | evaluations in batches |\n|---|---:|---:|---:|---:|")
        for name in given.models:
            compare(name, given.steps)


if __name__ == "__main__":
    main()
