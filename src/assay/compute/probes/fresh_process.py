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
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.jobs import Probe, SinglePoints
from assay.models.loading import load_model
from assay.outcome import ERROR, OK, Outcome
from assay.store import codec


def run(engine: CalculatorEngine, probe: Probe) -> dict[str, object]:
    """Largest deviation of energy (eV) and forces (eV/Å) between this process and a new one, for each structure."""
    if engine.model.reference is None:
        raise Unsupported("this calculator cannot be pickled, so a new process cannot load it")
    indices, structures, points = engine.evaluate_accepted(probe.structures)
    outcome = _in_new_process(engine, SinglePoints(tuple(structures), alone=True))
    if outcome.status == ERROR and outcome.cause in (Cause.OUT_OF_MEMORY, Cause.NO_DISK):
        raise MachineFailure(f"in a new process: {outcome.reason}", Cause(outcome.cause))
    if outcome.status != OK:
        raise ModelFailure(
            f"a new process fails for structures that work in the first process: {outcome.reason}", Cause(outcome.cause)
        )
    return {"indices": indices, **worst_deviation(points, [outcome.points()])}


def _in_new_process(engine: CalculatorEngine, job: SinglePoints) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder) / "request", Path(folder) / "answer"
        request.write_bytes(pickle.dumps((engine.model.reference, job, list(sys.path))))
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
        return Outcome(**codec.loads(answer.read_text()))


def _end_of(printed: Path) -> str:
    """The last words that a process printed."""
    return printed.read_bytes()[-300:].decode("utf-8", "replace").strip()


def main(request: str, answer: str) -> None:
    """Run the job that the parent process wrote to the file `request`, and write its outcome to `answer`."""
    reference, job, path = pickle.loads(Path(request).read_bytes())
    sys.path[:] = path
    outcome = CalculatorEngine(load_model(reference)).run("there", job)
    Path(answer).write_text(codec.dumps(outcome.as_dict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
