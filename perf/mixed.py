"""Ice cells and small molecules in one bundle: do batches of small molecules survive the large structures?

    OMP_NUM_THREADS=1 python perf/mixed.py mace-mp-0-small [MODEL ...] [--molecules 300]

All in one process, as in one worker. First each molecule alone, with the calculator of the model. Then one bundle of
ice cells of different sizes and molecules, one job each; its structures come from batches or from the calculator, as
Assay chooses. Then a bundle of other small molecules, after what the first one has taught the engine about batches. The
molecules are those of perf/molecules.py (3 to 14 atoms of H, C, N and O, with random displacements). Times are CPU
times.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from molecules import molecules

from assay.benchmarks.builders.ice import ice_cell
from assay.compute.worker import Engines, run_jobs
from assay.jobs import SinglePoints, job_key
from assay.models.loading import load_model
from assay.outcome import OK, Outcome
from assay.remarks import batch_remarks
from assay.store import Store
from assay.structure import Structure, from_atoms

ICE = (1, 1, 1, 2, 1, 2, 1, 1)
"""How often the ice cell is repeated along its first direction, for each ice structure of the bundle."""


def ice_cells() -> list[Structure]:
    """Ice cells of two sizes, with random displacements of about 0.05 Å."""
    rng, cells = np.random.default_rng(0), []
    for repeats in ICE:
        cell = from_atoms(ice_cell().to_atoms().repeat((repeats, 1, 1)))
        cells.append(cell.moved(cell.positions + rng.normal(scale=0.05, size=cell.positions.shape)))
    return cells


def alone(engines: Engines, structures: Sequence[Structure]) -> float:
    """CPU time (s) of one structure after another with the calculator."""
    for structure in structures[:20]:  # the first calls may compile
        engines.single.evaluate(structure)
    started = time.process_time()
    for structure in structures:
        engines.single.evaluate(structure)
    return time.process_time() - started


def together(engines: Engines, store: Store, structures: Sequence[Structure]) -> tuple[float, list[Outcome]]:
    """CPU time (s) and outcomes of one bundle, with one job for each structure."""
    bundle = [(job_key(job, "perf"), job) for job in (SinglePoints((s,)) for s in structures)]
    started = time.process_time()
    run_jobs(engines, store, bundle)
    cpu, outcomes = time.process_time() - started, store.outcomes()
    return cpu, [outcomes[key] for key, _ in bundle]


def share_in_batches(outcomes: Sequence[Outcome]) -> float:
    """The share (%) of the structures that came from a batch."""
    if bad := [outcome for outcome in outcomes if outcome.status != OK]:
        raise SystemExit(f"{len(bad)} of {len(outcomes)} structures ended with '{bad[0].status}': {bad[0].reason}")
    counts = [outcome.provenance.get("batch", {"structures": 0}) for outcome in outcomes]
    return 100.0 * sum(count["structures"] for count in counts) / len(outcomes)


def compare(name: str, count: int) -> None:
    """Print the row of one model."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "outcomes").mkdir()
        engines, store = Engines(load_model(name), Path(folder)), Store(Path(folder))
        shaken = molecules(2 * count, 0.05)
        single = 1e3 * alone(engines, shaken[count:]) / count
        cpu, mixed = together(engines, store, [*ice_cells(), *shaken[:count]])
        print(f"{name}: {len(ICE)} ice cells of up to {max(len(s) for s in ice_cells())} atoms and {count} molecules: "
              f"{cpu:.1f} s, {share_in_batches(mixed):.0f} % in batches")  # fmt: skip
        cpu, small = together(engines, store, shaken[count:])
        batched = 1e3 * cpu / count
        print(f"then {count} molecules: {batched:.2f} ms each, {share_in_batches(small):.0f} % in batches; alone "
              f"{single:.2f} ms each: {single / batched:.1f} × less", flush=True)  # fmt: skip
        for remark in batch_remarks([*mixed, *small]):
            print(remark)


def main() -> None:
    """Measure the models named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--molecules", type=int, default=300)
    options = parser.parse_args()
    for name in options.models:
        compare(name, options.molecules)


if __name__ == "__main__":
    main()
