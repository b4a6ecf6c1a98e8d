"""Evaluates many structures in batches of the best size; structures that fail in a batch are evaluated alone.

A batch that runs out of memory is split into halves. A structure without a usable result from a batch is evaluated by
the calculator, whose result counts, and the reason is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.compute.clock import cpu_seconds
from assay.compute.engines.batch_size import (
    LADDER,
    SPOT_CHECKS,
    BatchSize,
    held_megabytes,
    peak_megabytes_since_start,
    rung_below,
    width_of,
)
from assay.compute.engines.blame import machine_cause
from assay.compute.engines.calculator import CalculatorEngine
from assay.compute.engines.numbers import checked_energy, checked_forces
from assay.compute.heartbeat import beat
from assay.errors import Cause, MachineFailure, ModelFailure
from assay.model import BatchEvaluator
from assay.outcome import Point, no_point
from assay.stopping import stop_if_asked
from assay.structure import Structure
from assay.text import named

GIVE_UP = 3
"""Batches of a size are given up after this number of structures that fail in one and succeed with the calculator."""

FEW = LADDER[2]
"""Small structures join a batch of larger ones if all of them, padded to the larger size, have at most this many
atoms."""


class Answer(NamedTuple):
    """The point of a structure, or the failure if the machine could not compute it alone; and why it was alone.

    `given_up` is the reason if batches of this size are not used any more, which is reported to the user.
    """

    point: Point | MachineFailure
    why_alone: str = ""
    given_up: str = ""


class Pool:
    """Evaluates structures with the model's batch evaluator."""

    def __init__(self, single: CalculatorEngine) -> None:
        self.single = single
        self.sizes: dict[int, BatchSize] = {}
        """The batch size for structures of up to 1, 2, 4, 8, … atoms."""

    @property
    def evaluator(self) -> BatchEvaluator:
        """The batch evaluator of the model."""
        return self.single.batch

    def answers(self, structures: Sequence[Structure]) -> Iterator[tuple[list[int], list[Answer], float]]:
        """For each batch: the indices of its structures, their results, and the CPU seconds per structure."""
        for width, members in _by_size(structures).items():
            size = self.sizes.setdefault(width, BatchSize())
            waiting = sum(len(structures[i]) for i in members)
            done = 0
            while done < len(members):
                rung = 0 if size.given_up else size.rung(waiting)
                batch = first_batch(members[done:], structures, LADDER[rung])
                atoms = sum(len(structures[i]) for i in batch)
                answers, seconds = self._timed([structures[i] for i in batch], atoms, rung, size)
                done, waiting = done + len(batch), waiting - atoms
                yield batch, answers, seconds / len(batch)

    def _timed(
        self, structures: Sequence[Structure], atoms: int, rung: int, size: BatchSize
    ) -> tuple[list[Answer], float]:
        """Results of one batch and their CPU seconds, which are also recorded for the choice of the batch size."""
        started = cpu_seconds()
        if rung == 0:
            why = size.given_up or "one at a time is faster"
            answers = [Answer(self._alone(s), why, size.given_up) for s in structures]
        else:
            held = held_megabytes()
            answers = self._together(structures, size)
            size.megabytes = max(0.0, peak_megabytes_since_start() - held)
        seconds = cpu_seconds() - started
        size.record(rung, seconds, atoms)
        return answers, seconds

    def _together(self, structures: Sequence[Structure], size: BatchSize) -> list[Answer]:
        """Evaluate one batch, in two halves if memory is too small or the model refuses the batch."""
        points, reason, no_memory = self.evaluated(structures)
        if no_memory:
            size.ceiling = max(0, min(size.ceiling, rung_below(sum(len(s) for s in structures))))
        if points is None and len(structures) > 1 and not size.given_up:
            middle = len(structures) // 2
            return self._together(structures[:middle], size) + self._together(structures[middle:], size)
        usable = points if points is not None else [None] * len(structures)
        answers = [
            Answer(p) if p is not None else self._repeated_alone(s, reason, size)
            for p, s in zip(usable, structures, strict=True)
        ]
        return self._compared(structures, answers, size)

    def evaluated(self, structures: Sequence[Structure]) -> tuple[list[Point | None] | None, str, bool]:
        """Points from the batch evaluator (None if not usable), the reason if not, and whether memory was too small."""
        try:
            results = list(self.evaluator.evaluate(structures))
        except (Exception, SystemExit) as error:
            stop_if_asked()
            text = named(error)
            if is_error_of_assay(error):
                text = f"an error of Assay, not of the model: {text}"
            return None, f"in a batch: {text.splitlines()[0]}", machine_cause(error) == Cause.OUT_OF_MEMORY
        finally:
            beat()
        if len(results) != len(structures):
            return None, f"a batch of {len(structures)} structures gave {len(results)} results", False
        points = [_point(answer, s) for answer, s in zip(results, structures, strict=True)]
        return points, "the batch gave NaN, infinite numbers or arrays of the wrong shape", False

    def _repeated_alone(self, structure: Structure, reason: str, size: BatchSize) -> Answer:
        """The result of the calculator for a structure without a usable result from the batch."""
        point = self._alone(structure)
        if isinstance(point, Point) and point.ok:
            size.disagreements += 1
            if size.disagreements >= GIVE_UP and not size.given_up:
                size.given_up = reason
        return Answer(point, reason, size.given_up)

    def _alone(self, structure: Structure) -> Point | MachineFailure:
        try:
            return self.single.evaluate(structure)
        except ModelFailure as failure:
            return no_point(len(structure), str(failure), failure.cause)
        except MachineFailure as fault:
            return fault

    def _compared(self, structures: Sequence[Structure], answers: list[Answer], size: BatchSize) -> list[Answer]:
        """Compare the first batch of a size with the calculator, which also gives the calculator's time per atom."""
        if 0 in size.seconds or size.given_up:
            return answers
        size.seconds[0] = np.inf
        for i in dict.fromkeys(np.linspace(0, len(structures) - 1, SPOT_CHECKS).astype(int).tolist()):
            started = cpu_seconds()
            alone, together = self._alone(structures[i]), answers[i].point
            size.record(0, cpu_seconds() - started, len(structures[i]))
            if isinstance(alone, Point) and isinstance(together, Point) and not agree(alone, together):
                difference = abs(alone.energy - together.energy)
                size.given_up = f"the energies of a structure in a batch and alone differ by {difference:.2g} eV"
        if not size.given_up:
            return answers
        # No result of this batch is reliable.
        return [Answer(self._alone(s), size.given_up, size.given_up) for s in structures]


def is_error_of_assay(error: BaseException) -> bool:
    """True if the adapter of a family raised an error, which is code of Assay, and not the package of the model.

    An error of the engines is about what an evaluator returned, and broken models are not part of Assay here.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", "")).split(".") if trace is not None else [""]
    ours = module[0] == "assay" and module[1:2] not in (["compute"], ["sabotage"])
    return ours and not isinstance(error, ModelFailure | MemoryError | MachineFailure)


def _by_size(structures: Sequence[Structure]) -> dict[int, list[int]]:
    """Indices of structures that may share a batch: up to 1, 2, 4, 8, 16, … atoms, the smallest first.

    Some models pad structures to the largest one of the batch, so structures of very different size are separated,
    unless there are so few small ones that a batch of their own would cost more.
    """
    groups: dict[int, list[int]] = {}
    for index in sorted(range(len(structures)), key=lambda i: len(structures[i])):
        groups.setdefault(width_of(len(structures[index])), []).append(index)
    for smaller, larger in pairwise(list(groups)):
        if len(groups[smaller]) * larger <= FEW:
            groups[larger] = groups.pop(smaller) + groups[larger]
    return groups


def first_batch(members: Sequence[int], structures: Sequence[Structure], atoms: int) -> list[int]:
    """The first members that together have at most this number of atoms; at least one."""
    batch, total = [members[0]], len(structures[members[0]])
    for index in members[1:]:
        total += len(structures[index])
        if total > atoms:
            break
        batch.append(index)
    return batch


def _point(answer: object, structure: Structure) -> Point | None:
    """A result as a point; None if it is no pair of energy and forces, or not of finite numbers of the right shape."""
    try:
        energy, forces = answer if isinstance(answer, tuple | list) else (None, None)
        return Point(checked_energy(energy), checked_forces(forces, len(structure)), pbc=structure.pattern)
    except (ModelFailure, ValueError):
        return None


def agree(one: Point, other: Point) -> bool:
    """True if two results are equal within the rounding of single precision, which most networks use."""
    if not (one.ok and other.ok):
        return one.ok == other.ok
    energy = 1e-4 * len(one.forces) + 4e-6 * abs(one.energy)
    scale = float(np.abs(one.forces).max(initial=0.0))
    same_forces = float(np.abs(one.forces - other.forces).max(initial=0.0)) <= 2e-3 * (1.0 + scale)
    return abs(one.energy - other.energy) <= energy and same_forces
