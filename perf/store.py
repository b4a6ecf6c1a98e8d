"""Time and memory of `assay score` for results folders of 10 000 to 1 000 000 outcomes.

Every outcome is the answer for one molecule, and every one is asked for by a case of one of five benchmarks, so all are
decoded and observed; with `--asked 0.01`, only every hundredth is. Printed are CPU seconds and peak memory of the
command, in all and per outcome: where the folder is ten times as large, the first must be about ten times as large.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.benchmark import Benchmark, Case
from assay.naming import digest
from assay.observation import Metric, Observation
from assay.outcome import OK, Outcome, Point, pack_points
from assay.store import Stamp, Store, codec

JOBS_PER_CASE = 20
FILES = 8
"""Files of outcomes, as eight worker processes would write them."""


@dataclass(frozen=True)
class Many(Benchmark):
    """The mean of the largest forces of twenty molecules."""

    metrics = (Metric("force_mean", "eV/Å", threshold=1.0),)

    def observe(self, case: Case, outcomes: Mapping[str, Outcome]) -> Observation:
        """The number of a case."""
        forces = [float(np.abs(point.forces).max()) for found in outcomes.values() for point in found.points()]
        return Observation(case.id, OK, {"force_mean": float(np.mean(forces))})


KINDS = [type(f"Many{n}", (Many,), {"name": f"store.many{n}", "__doc__": Many.__doc__}) for n in range(5)]
Many0, Many1, Many2, Many3, Many4 = KINDS


def write_folder(folder: Path, count: int, asked: float) -> None:
    """A results folder of this number of outcomes, of which this part is asked for."""
    store = Store.create(folder, "model")
    store.write_model({"name": "model", "fingerprint": "perf"})
    point = Point(-76.4, np.random.default_rng(0).normal(size=(3, 3)), None, "", "FFF")
    machine = {
        "engine": "ase",
        "started": 1.79e9,
        "finished": 1.79e9,
        "cpu_seconds": 0.01,
        "assay": "0.1",
        "ase": "3.29",
    }
    outcome = Outcome("KEY", OK, pack_points([point], [3]), provenance={**machine, "peak_memory_mb": 90.0})
    start, _, end = codec.dumps(outcome.as_dict()).partition("KEY")
    keys = [digest(str(number)) + "00000000" for number in range(count)]
    for file in range(FILES):
        with (store.folder / "outcomes" / f"{file}.jsonl").open("w") as stream:
            stream.writelines(f"{start}{key}{end}\n" for key in keys[file::FILES])
    wanted = keys[: max(round(count * asked), JOBS_PER_CASE * len(KINDS))]
    for number, kind in enumerate(KINDS):
        own = wanted[number :: len(KINDS)]
        groups = [own[i : i + JOBS_PER_CASE] for i in range(0, len(own), JOBS_PER_CASE)]
        table = {f"case{i}": {f"job{j}": key for j, key in enumerate(group)} for i, group in enumerate(groups)}
        store.write_cases(kind.name, Stamp(kind.version, "perf"), [Case(name, {}) for name in table], table)


def score(folder: Path) -> tuple[float, float, int]:
    """CPU seconds and peak memory (MB) of `assay score`, and the number of cases that it scored."""
    options = [word for kind in KINDS for word in ("-b", f"{__file__}:{kind.__name__}")]
    command = [sys.executable, "-m", "assay", "score", str(folder), "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert process.stdout is not None
    printed = json.loads(process.stdout.read())
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"assay score ended with {status}")
    (model,) = printed["models"]
    cases = sum(benchmark["coverage"][0] for benchmark in model["benchmarks"])
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, cases


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--asked", type=float, default=1.0, help="part of the outcomes that the cases ask for")
    options = parser.parse_args()
    print(f"{'outcomes':>10} {'cases':>8} {'CPU s':>8} {'µs each':>8} {'MB':>8} {'kB each':>8}")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), size, options.asked)
            seconds, megabytes, cases = score(Path(folder))
        each = f"{1e6 * seconds / size:8.1f} {megabytes:8.0f} {1e3 * megabytes / size:8.2f}"
        print(f"{size:10} {cases:8} {seconds:8.2f} {each}", flush=True)


if __name__ == "__main__":
    main()
