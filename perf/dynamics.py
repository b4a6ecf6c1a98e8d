"""Molecular dynamics of 14 small molecules: in batches with Assay, and one after another in plain ASE, in one run.

    OMP_NUM_THREADS=1 python perf/dynamics.py ani-1ccx aimnet2 mace-mp-0-small [--steps 500]
    python perf/dynamics.py --loop

The molecules are four rings and ten others of the G2 set in ASE (4 to 12 atoms of H, C, N and O), at 300 K, with a time
step of 1 fs and the same friction. Plain ASE is `Langevin` with one calculator. Assay runs the same steps in one
process and also writes frames to disk. Times are per step of one molecule. CPU time is the relevant number; wall time
depends on what else the computer does. `--loop` measures the time of a step without the model, with a calculator that
does nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase.calculators.calculator import Calculator, all_changes

from assay.compute.worker import Engines, run_jobs
from assay.jobs import Dynamics, job_key
from assay.models.loading import load_model
from assay.store import Store
from assay.structure import Structure, from_atoms

NAMES = (
    "C6H6", "C4H4O", "C4H4NH", "C5H5N", "CH3CHO", "C2H6", "C2H4", "C2H2", "CH3NH2", "CH3CN", "CH3OH", "H2CO", "HCOOH",
    "CH3CH2OH",
)  # fmt: skip


HEADING = """\
| model | ASE, ms CPU per step | Assay | less CPU | less time | evaluations, ASE | Assay | in batches |
|---|---:|---:|---:|---:|---:|---:|---:|"""


class Nothing(Calculator):
    """A calculator that takes no time and gives zero energy and forces."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms=None, properties=(), system_changes=all_changes):  # type: ignore[no-untyped-def]
        self.atoms = atoms
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}


def molecules() -> list[Structure]:
    """The 14 molecules."""
    from ase.build import molecule

    known = {"CH3NH2": "H3CNH2"}
    found = [from_atoms(molecule(known.get(name, name))) for name in NAMES]
    return [Structure.build(s.numbers, s.positions) for s in found]


class Cost(NamedTuple):
    """CPU and wall time (s), the number of evaluations, and how many of these were made in batches."""

    cpu: float
    wall: float
    evaluations: int
    together: int = 0


def plain(calculator: Calculator, structures: Sequence[Structure], steps: int) -> Cost:
    """Langevin dynamics in ASE, one molecule after another."""
    from ase import units
    from ase.md.langevin import Langevin
    from ase.md.velocitydistribution import MaxwellBoltzmannDistribution

    calls, calculate = 0, calculator.calculate

    def counted(*given: object, **named: object) -> None:
        nonlocal calls
        calls += 1
        calculate(*given, **named)

    calculator.calculate = counted
    cpu = wall = 0.0
    for structure in structures:
        atoms = structure.to_atoms()
        atoms.calc = calculator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            MaxwellBoltzmannDistribution(atoms, temperature_K=300, rng=np.random.default_rng(0))
            run = Langevin(atoms, units.fs, temperature_K=300, friction=0.002 / units.fs)
        run.run(3)
        calls, started, since = calls - 4, time.process_time(), time.perf_counter()  # these three, and the first force
        run.run(steps)
        cpu, wall = cpu + time.process_time() - started, wall + time.perf_counter() - since
    return Cost(cpu, wall, calls)


def with_assay(structures: Sequence[Structure], steps: int, engines: Engines, kelvin: float = 300.0) -> Cost:
    """The same steps as jobs of Assay, with frames written to disk."""
    jobs = [Dynamics(s, steps=steps, interval=10, seed=steps, temperature=kelvin) for s in structures]
    bundle, store = [(job_key(job, "perf"), job) for job in jobs], Store(engines.single.folder)
    started, since = time.process_time(), time.perf_counter()
    statuses = run_jobs(engines, store, bundle)
    cpu, wall = time.process_time() - started, time.perf_counter() - since
    bad = [status for _, status in statuses if status != "ok"]
    if bad:
        raise SystemExit(f"{len(bad)} of {len(jobs)} simulations ended with the status '{bad[0]}'")
    outcomes = store.outcomes()
    alone = {"structures": 0, "alone": steps + 1}
    batches = [outcomes[key].provenance.get("batch", alone) for key, _ in bundle]
    together = sum(b["structures"] for b in batches)
    return Cost(cpu, wall, together + sum(b["alone"] for b in batches), together)


def compare(name: str, steps: int) -> None:
    """Print the row of one model: the same molecules and steps in ASE and in Assay."""
    structures, model = molecules(), load_model(name)
    loop = plain(model.build(), structures, steps)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outcomes").mkdir()
        engines = Engines(model, Path(folder))
        with_assay(structures, 20, engines)  # loads and compiles the model, and finds the size of batches
        ours = with_assay(structures, steps, engines)
    each = 1e3 / (len(structures) * steps)
    print(f"| {name} | {each * loop.cpu:.2f} | {each * ours.cpu:.2f} | {loop.cpu / ours.cpu:.1f} × | "
          f"{loop.wall / ours.wall:.1f} × | {loop.evaluations} | {ours.evaluations} | "
          f"{100 * ours.together / ours.evaluations:.0f} % |", flush=True)  # fmt: skip


def loop_cost(steps: int = 5000) -> None:
    """Print the time of a step without the model."""
    structures = molecules()[:1]
    ase = plain(Nothing(), structures, steps).cpu
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outcomes").mkdir()
        ours = with_assay(structures, steps, Engines(load_model(Nothing), Path(folder)), kelvin=1e-3).cpu
    print(f"a step without the model, {len(structures[0])} atoms: ASE {1e6 * ase / steps:.0f} µs, Assay "
          f"{1e6 * ours / steps:.0f} µs, ratio {ours / ase:.2f}")  # fmt: skip


def main() -> None:
    """Measure the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--loop", action="store_true", help="time of a step with a calculator that does nothing")
    given = parser.parse_args()
    if given.loop or not given.models:
        loop_cost()
    if given.models:
        print(HEADING)
        for name in given.models:
            compare(name, given.steps)


if __name__ == "__main__":
    main()
