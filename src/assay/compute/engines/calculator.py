"""The engine for any ASE calculator: one calculator, one structure at a time, as little in between as possible.

ASE's usual route compares the atoms with a copy of the last ones at every call. Here positions are written into one
`Atoms` object that is kept for each composition, and the calculator's own `calculate` is called: no copies, no
comparison.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.compute.engines.precision import precision_and_device
from assay.compute.protocols import Asking, Ending, carry_out, protocol
from assay.errors import Cause, ModelFailure, ModelNotBuilt
from assay.jobs import Job, Probe, SinglePoints
from assay.model import BatchEvaluator, Model
from assay.outcome import ERROR, FAILED, OK, UNSUPPORTED, Outcome, Point, no_point
from assay.store.trajectory import trajectory_path
from assay.structure import Floats, Structure

if TYPE_CHECKING:
    from ase import Atoms
    from ase.calculators.calculator import Calculator

ALL_CHANGES = ["positions", "numbers", "cell", "pbc", "initial_charges", "initial_magmoms"]


class Unsupported(Exception):
    """A probe asks for something that this model does not have."""


class CalculatorEngine:
    """Runs jobs with one model; the calculator is built when it is first needed and then kept."""

    name = "ase"

    def __init__(self, model: Model, folder: Path | None = None) -> None:
        self.model = model
        self.folder = folder
        """The results folder, where trajectories are written."""

        self._calculator: Calculator | None = None
        self._batch: BatchEvaluator | None = None
        self._scratch: dict[tuple[bytes, tuple[bool, bool, bool]], Atoms] = {}
        self.changed_inputs = 0
        self.used: dict[str, str] = {}

    @property
    def calculator(self) -> Calculator:
        """The calculator in use."""
        if self._calculator is None:
            self._calculator = self.model.build()
        return self._calculator

    @property
    def batch(self) -> BatchEvaluator:
        """The model's batch evaluator, built when it is first needed and then kept."""
        if self._batch is None:
            if self.model.build_batch is None:
                raise ModelFailure("the model has no batched evaluator")
            self._batch = self.model.build_batch()
        return self._batch

    def evaluate(self, structure: Structure, properties: tuple[str, ...] = ("energy", "forces")) -> Point:
        """Energy, forces and, if asked for, stress; `ModelFailure` unless they are finite and of the right shape."""
        point = evaluate(self.calculator, structure, properties, self._atoms(structure), self._note_change)
        if not self.used:
            self.used = precision_and_device(self.calculator)
        return point

    def answered(self, structures: Sequence[Structure]) -> tuple[list[int], list[Structure], list[Point]]:
        """The structures that the model answers, with their places in the list and the answers; it must be some."""
        rows, last = [], ModelFailure("no structures")
        for i, structure in enumerate(structures):
            try:
                rows.append((i, structure, self.evaluate(structure)))
            except ModelFailure as failure:
                last = failure
        if not rows:
            raise ModelFailure(f"none of {len(structures)} structures was answered: {last}", last.cause)
        return [i for i, _, _ in rows], [s for _, s, _ in rows], [p for _, _, p in rows]

    def _note_change(self) -> None:
        self.changed_inputs += 1
        self._scratch.clear()  # what the calculator altered must not be used again

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
        """One job to its outcome; what the model does wrong never raises."""
        started, cpu = time.time(), time.process_time()
        trace = ""
        try:
            ending, trace = self._dispatch(key, job)
        except Unsupported as error:
            ending = Ending(UNSUPPORTED, {}, str(error))
        except Exception as error:
            ending, trace = ended_by(error), traceback.format_exc()
        provenance = {
            "engine": self.name,
            "started": started,
            "finished": time.time(),
            "cpu_seconds": round(time.process_time() - cpu, 6),
        }
        return Outcome(key, ending.status, ending.values, ending.reason, trace, provenance, ending.cause)

    def _dispatch(self, key: str, job: Job) -> tuple[Ending, str]:
        if isinstance(job, Probe):
            probe = import_module(f"assay.compute.probes.{job.name}")
            return Ending(OK, probe.run(self, job)), ""
        properties = job.properties if isinstance(job, SinglePoints) else ("energy", "forces")
        traces: list[str] = []
        ending = carry_out(self.protocol(key, job), lambda asked: [self._point(s, properties, traces) for s in asked])
        return ending, (traces[0] if traces else "")

    def protocol(self, key: str, job: Job) -> Asking[Ending]:
        """The protocol of a job, with the place of its trajectory if there is one."""
        return protocol(job, None if self.folder is None else trajectory_path(self.folder, key))

    def _point(self, structure: Structure, properties: tuple[str, ...], traces: list[str]) -> Point:
        """The answer, or, with its traceback in `traces`, the reason why there is none."""
        try:
            return self.evaluate(structure, properties)
        except ModelFailure as failure:
            traces.append(traceback.format_exc())
            return no_point(len(structure), str(failure), failure.cause)


def ended_by(error: Exception) -> Ending:
    """How a job ends with an exception: failed if the model is to blame, else an error of the machine or of Assay."""
    if isinstance(error, ModelFailure):
        return Ending(FAILED, {}, str(error), error.cause)
    if isinstance(error, MemoryError):
        return Ending(ERROR, {}, f"out of memory: {error}", Cause.OUT_OF_MEMORY)
    if isinstance(error, ModelNotBuilt):
        return Ending(ERROR, {}, str(error), Cause.NOT_BUILT)
    return Ending(ERROR, {}, f"{type(error).__name__}: {error}", Cause.INTERNAL)


def evaluate(
    calculator: Calculator,
    structure: Structure,
    properties: tuple[str, ...],
    atoms: Atoms | None = None,
    on_change: Callable[[], None] | None = None,
) -> Point:
    """Evaluate one structure with a calculator and check what it returns.

    `on_change` is called when the calculator altered the positions it was given, which it must not.
    """
    target = structure.to_atoms() if atoms is None else atoms
    wanted = [name for name in properties if name != "stress" or has_stress(calculator)]
    try:
        results = _results(calculator, target, wanted)
    except MemoryError:
        raise
    except ModelFailure as failure:  # an adapter that already says what was wrong
        raise ModelFailure(f"refused: {failure}") from failure
    except (Exception, SystemExit) as error:  # a model that leaves instead of raising has refused too
        raise ModelFailure(f"refused: {type(error).__name__}: {error}".strip()) from error
    if on_change is not None and _altered(target, structure):
        on_change()
    pattern = "".join("T" if periodic else "F" for periodic in target.pbc)
    stress = results.get("stress") if "stress" in properties else None
    return Point(_energy(results), _forces(results, len(structure)), _stress(stress), pbc=pattern)


PUBLIC_METHODS = ("get_potential_energy", "get_forces", "get_stress", "get_property")


def answers_by_calculate(calculator: Calculator) -> bool:
    """True when ASE's public methods hand out what `calculate` puts into `results`, and nothing else.

    A calculator that overrides one of them must be asked through it: that is what users get.
    """
    if not isinstance(getattr(calculator, "results", None), dict) or not hasattr(calculator, "calculate"):
        return False
    owners = [getattr(getattr(type(calculator), name, None), "__module__", "") or "" for name in PUBLIC_METHODS]
    return all(owner.startswith("ase.") for owner in owners) and not set(PUBLIC_METHODS) & set(vars(calculator))


def _altered(atoms: Atoms, structure: Structure) -> bool:
    """True when atoms are no longer those of the structure."""
    return not (
        np.array_equal(atoms.arrays["positions"], structure.positions)
        and np.array_equal(atoms.arrays["numbers"], structure.numbers)
        and np.array_equal(atoms.cell.array, structure.cell)
        and tuple(atoms.pbc) == structure.pbc
    )


def has_stress(calculator: Calculator) -> bool:
    """True when the calculator says that it can compute the stress."""
    return "stress" in getattr(calculator, "implemented_properties", ())


def _results(calculator: Calculator, atoms: Atoms, wanted: list[str]) -> dict[str, object]:
    """What the calculator gives: by its own `calculate` where its public methods are those of ASE, else by these."""
    if answers_by_calculate(calculator):
        calculator.results = {}
        calculator.calculate(atoms, wanted, list(ALL_CHANGES))
        return calculator.results
    if hasattr(calculator, "reset"):
        calculator.reset()  # the atoms are the same object as last time, which a cache may take for no change
    found: dict[str, object] = {
        "energy": calculator.get_potential_energy(atoms),
        "forces": calculator.get_forces(atoms),
    }
    if "stress" in wanted:
        found["stress"] = calculator.get_stress(atoms)
    return found


def _numbers(value: object, what: str) -> Floats:
    """The value as a new array of floats; what cannot be one is the model's failure."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ModelFailure(f"returned {what} that is not made of numbers: {error}", Cause.MALFORMED) from error


def _energy(results: dict[str, object]) -> float:
    if "energy" not in results:
        raise ModelFailure("returned no energy", Cause.MALFORMED)
    energy = _numbers(results["energy"], "an energy")
    if energy.size != 1:
        raise ModelFailure(f"returned an energy of shape {energy.shape}, expected one number", Cause.MALFORMED)
    value = float(energy.reshape(-1)[0])
    if value - value != 0.0:  # NaN and infinity, without the cost of a library call
        raise ModelFailure(f"returned the energy {value}", Cause.NOT_FINITE)
    return value


def _forces(results: dict[str, object], count: int) -> Floats:
    if "forces" not in results:
        raise ModelFailure("returned no forces", Cause.MALFORMED)
    # A copy: calculators may hand out a buffer that they fill again at the next call.
    forces = _numbers(results["forces"], "forces")
    if forces.shape != (count, 3):
        raise ModelFailure(f"returned forces of shape {forces.shape} for {count} atoms", Cause.MALFORMED)
    if not np.isfinite(forces).all():
        raise ModelFailure("returned forces that are NaN or infinite", Cause.NOT_FINITE)
    return forces


def _stress(stress: object) -> Floats | None:
    if stress is None:
        return None
    array = _numbers(stress, "a stress")
    if array.shape == (3, 3):
        array = array[[0, 1, 2, 1, 0, 0], [0, 1, 2, 2, 2, 1]]
    if array.shape != (6,):
        raise ModelFailure(f"returned a stress of shape {array.shape}, expected six Voigt components", Cause.MALFORMED)
    if not np.isfinite(array).all():
        raise ModelFailure("returned a stress that is NaN or infinite", Cause.NOT_FINITE)
    return array
