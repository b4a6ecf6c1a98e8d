"""Does a new process give the same numbers? It shares nothing with the old one, not even the hash seed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from assay.compute.engines.calculator import CalculatorEngine, Unsupported
from assay.compute.probes._deviation import worst_deviation
from assay.compute.processes import end_with_parent
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.jobs import Probe, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, OK, Outcome
from assay.store import codec


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV), forces (eV/Å) and stress (eV/Å³) between this process and a new one."""
    if engine.model.reference is None:
        raise Unsupported("this calculator cannot be pickled, so a new process cannot load it")
    indices, structures, points = engine.evaluate_accepted(probe.structures, stress=True)
    wanted = [("energy", "forces") if p.stress is None else ("energy", "forces", "stress") for p in points]
    jobs = [SinglePoints((s,), properties, alone=True) for s, properties in zip(structures, wanted, strict=True)]
    outcomes = _in_new_process(engine, jobs)
    bad = next((outcome for outcome in outcomes if outcome.status != OK), None)
    if bad is not None and bad.status == ERROR and bad.cause in (Cause.OUT_OF_MEMORY, Cause.NO_DISK):
        raise MachineFailure(f"in a new process: {bad.reason}", Cause(bad.cause))
    if bad is not None:
        raise ModelFailure(
            f"a new process fails for structures that work in the first process: {bad.reason}", Cause(bad.cause)
        )
    return {"indices": indices, **worst_deviation(points, [[outcome.points()[0] for outcome in outcomes]])}


def _in_new_process(engine: CalculatorEngine, jobs: list[SinglePoints]) -> list[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder) / "request", Path(folder) / "answer"
        request.write_bytes(pickle.dumps((engine.model.reference, jobs, list(sys.path))))
        seed = str(1 + int(os.environ.get("PYTHONHASHSEED", "0").replace("random", "0")))
        printed = Path(folder) / "printed"
        with printed.open("wb") as out:  # not a pipe, which a process that the model leaves behind would keep open
            process = subprocess.run(
                [sys.executable, "-m", "assay.compute.probes.fresh_process", str(request), str(answer)],
                env={**os.environ, "PYTHONHASHSEED": seed},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
        if process.returncode < 0:
            signal = f"signal {-process.returncode}"
            raise MachineFailure(f"a new process with the model died ({signal})", Cause.WORKER_LOST)
        if process.returncode != 0 or not answer.exists():
            raise ModelFailure(f"a new process cannot evaluate the model: {_end_of(printed)}")
        return [Outcome(**row) for row in codec.loads(answer.read_text())["outcomes"]]


def _end_of(printed: Path) -> str:
    """The last words that a process printed."""
    return printed.read_bytes()[-300:].decode("utf-8", "replace").strip()


def main(request: str, answer: str) -> None:
    """Run the jobs that the parent process wrote to the file `request`, and write their outcomes to `answer`."""
    end_with_parent(os.getppid())
    reference, jobs, path = pickle.loads(Path(request).read_bytes())
    sys.path[:] = path
    engine = CalculatorEngine(load_model(reference))
    outcomes = [engine.run("there", job).as_dict() for job in jobs]
    Path(answer).write_text(codec.dumps({"outcomes": outcomes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
