"""The engine for any ASE calculator: one structure at a time, with little overhead.

ASE compares the atoms with a copy of the last ones at every call. Here the positions are written into one `Atoms`
object that is kept for each composition, and `calculate` of the calculator is called directly, without copies and
comparisons.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from assay.compute.clock import cpu_seconds
from assay.compute.engines.blame import machine_failure
from assay.compute.engines.evaluation import evaluate, with_stress_if_possible
from assay.compute.engines.precision import precision_and_device
from assay.compute.protocols import Ending, Requests, carry_out, protocol
from assay.errors import INVALID, Cause, ModelFailure, ModelNotBuilt
from assay.jobs import Job, Probe, SinglePoints
from assay.model import BatchEvaluator, Model
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point, no_point
from assay.store.trajectory import trajectory_path
from assay.structure import Structure
from assay.text import LONGEST_TRACE, named, shortened

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator


class Unsupported(Exception):
    """A probe needs something that this model does not support."""


class CalculatorEngine:
    """Runs jobs with the calculator of one model. The calculator is built when it is first needed and then kept."""

    name = "ase"

    def __init__(self, model: Model, folder: Path | None = None) -> None:
        self.model = model
        self.folder = folder
        """The results folder, for trajectories."""

        self._calculator: Calculator | None = None
        self._batch: BatchEvaluator | None = None
        self._scratch: dict[tuple[bytes, tuple[bool, bool, bool]], Atoms] = {}
        self.changed_inputs = 0
        """How often the calculator changed the atoms that it evaluated."""

        self.used: dict[str, str] = {}
        """Precision and device of the calculator, after the first evaluation."""

    @property
    def calculator(self) -> Calculator:
        """The calculator of the model."""
        if self._calculator is None:
            self._calculator = self.model.build()
        return self._calculator

    @property
    def device(self) -> str:
        """Where the calculator computes, for example "cpu"."""
        return (self.used or precision_and_device(self.calculator)).get("device", "")

    @property
    def batch(self) -> BatchEvaluator:
        """The model's batch evaluator, built when it is first needed and then kept."""
        if self._batch is None:
            if self.model.build_batch is None:
                raise ModelFailure("this model does not support batches")
            self._batch = self.model.build_batch()
        return self._batch

    def evaluate(self, structure: Structure, properties: tuple[str, ...] = ("energy", "forces")) -> Point:
        """Energy, forces and, if requested, stress; `ModelFailure` if they are NaN, infinite or of the wrong shape."""
        point = evaluate(self.calculator, structure, properties, self._atoms(structure), self._record_change)
        if not self.used:
            self.used = precision_and_device(self.calculator)
        return point

    def evaluate_fully(self, structure: Structure) -> Point:
        """Energy, forces and, for crystals, the stress if the model has one."""
        return with_stress_if_possible(self.calculator, structure, lambda wanted: self.evaluate(structure, wanted))

    def evaluate_accepted(
        self, structures: Sequence[Structure], stress: bool = False
    ) -> tuple[list[int], list[Structure], list[Point]]:
        """Indices, structures and points of all structures that the model does not refuse.

        With `stress`, crystals have their stress if the model gives one. `ModelFailure` if the model refuses all of
        them, or answers one with NaN or with something else than numbers.
        """
        rows, last = [], ModelFailure("no structures")
        for i, structure in enumerate(structures):
            try:
                point = self.evaluate_fully(structure) if stress else self.evaluate(structure)
                rows.append((i, structure, point))
            except ModelFailure as failure:
                if failure.cause in INVALID:  # NaN is no refusal, and must not be passed over
                    raise
                last = failure
        if not rows:
            raise ModelFailure(f"the model refused all {len(structures)} structures: {last}", last.cause)
        return [i for i, _, _ in rows], [s for _, s, _ in rows], [p for _, _, p in rows]

    def _record_change(self) -> None:
        self.changed_inputs += 1
        self._scratch.clear()  # atoms that the calculator changed must not be used again

    def _atoms(self, structure: Structure) -> Atoms:
        key = (structure.numbers.tobytes(), structure.pbc)
        atoms = self._scratch.get(key)
        if atoms is None:
            if len(self._scratch) > 64:
                self._scratch.clear()
            atoms = self._scratch[key] = structure.to_atoms()
        atoms.arrays["positions"][:] = structure.positions
        atoms.cell.array[:] = structure.cell
        atoms.info = dict(structure.info)
        return atoms

    def run(self, key: str, job: Job) -> Outcome:
        """Run one job; an error of the model becomes part of the outcome and is never raised."""
        started, cpu = time.time(), cpu_seconds()
        trace = ""
        try:
            ending, trace = self._dispatch(key, job)
        except Unsupported as error:
            ending = Ending(UNSUPPORTED, {}, str(error))
        except Exception as error:
            ending, trace = ending_of(error), trace_of(error)
        provenance = {
            "engine": self.name,
            "started": started,
            "finished": time.time(),
            "cpu_seconds": round(cpu_seconds() - cpu, 6),
        }
        if isinstance(job, Probe) and "batch" in ending.values:
            provenance["batch"] = ending.values["batch"]
        return Outcome(key, ending.status, ending.values, ending.reason, trace, provenance, ending.cause)

    def _dispatch(self, key: str, job: Job) -> tuple[Ending, str]:
        if isinstance(job, Probe):
            probe = import_module(f"assay.compute.probes.{job.name}")
            return Ending(OK, probe.run(self, job)), ""
        properties = job.properties if isinstance(job, SinglePoints) else ("energy", "forces")
        traces: list[str] = []
        ending = carry_out(self.protocol(key, job), lambda batch: [self._point(s, properties, traces) for s in batch])
        return ending, (traces[0] if traces else "")

    def protocol(self, key: str, job: Job) -> Requests[Ending]:
        """The protocol of a job, with the path of its trajectory if there is a results folder."""
        return protocol(job, None if self.folder is None else trajectory_path(self.folder, key))

    def _point(self, structure: Structure, properties: tuple[str, ...], traces: list[str]) -> Point:
        """The result of one structure; if the model fails, a point with the reason, and the traceback in `traces`."""
        try:
            return self.evaluate(structure, properties)
        except ModelFailure as failure:
            traces.append(trace_of(failure))
            return no_point(len(structure), str(failure), failure.cause)


def ending_of(error: Exception) -> Ending:
    """The ending of a job with an exception: `failed` for a failure of the model, else `error`."""
    if (fault := machine_failure(error)) is not None:
        return Ending(ERROR, {}, str(fault), fault.cause)
    if isinstance(error, ModelFailure):
        return Ending(FAILED, {}, str(error), error.cause)
    if isinstance(error, ModelNotBuilt):
        return Ending(ERROR, {}, str(error), Cause.NOT_BUILT)
    return Ending(ERROR, {}, named(error), Cause.INTERNAL)


def trace_of(error: BaseException) -> str:
    """The traceback of an exception, without the middle of a very long message."""
    return shortened("".join(traceback.format_exception(error)), LONGEST_TRACE)
