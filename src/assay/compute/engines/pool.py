"""Points of many structures in batches, each batch as large as pays, and alone what a batch does not answer.

A batch that runs out of memory is halved. What it does not answer is asked of the calculator alone, whose word counts,
and the reason is kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assay.compute.engines.batch_size import LADDER, BatchSize, held_megabytes, peak_megabytes_since_start, rung_below
from assay.compute.engines.calculator import CalculatorEngine
from assay.errors import ModelFailure
from assay.model import BatchEvaluator
from assay.outcome import Point, no_point
from assay.structure import Structure

GIVE_UP = 3
"""So many structures that the calculator answers and the batch does not, and the batch is not used any more."""

FEW = LADDER[2]
"""Structures that, filled up to the size of larger ones, have no more atoms than this together join these."""

SPOT_CHECKS = 3
MEMORY_WORDS = ("out of memory", "not enough memory", "can't allocate", "cannot allocate", "resource_exhausted")


class Answer(NamedTuple):
    """The point of a structure (or that memory was short even for it alone), and why it was computed alone, if so."""

    point: Point | MemoryError
    alone: str = ""


class Pool:
    """Evaluates structures with the model's batch evaluator."""

    def __init__(self, single: CalculatorEngine) -> None:
        self.single = single
        self.tempos: dict[int, BatchSize] = {}
        self.given_up = ""
        self.disagreements = 0

    @property
    def evaluator(self) -> BatchEvaluator:
        """The batch evaluator of the model."""
        return self.single.batch

    def answers(self, structures: Sequence[Structure]) -> Iterator[tuple[list[int], list[Answer], float]]:
        """Batch by batch: places of its structures in the list, their answers, and the CPU seconds of each."""
        for width, members in _by_size(structures).items():
            tempo = self.tempos.setdefault(width, BatchSize())
            waiting = sum(len(structures[i]) for i in members)
            done = 0
            while done < len(members):
                rung = 0 if self.given_up else tempo.rung(waiting)
                chosen = _filling(members[done:], structures, LADDER[rung])
                atoms = sum(len(structures[i]) for i in chosen)
                found, seconds = self._timed([structures[i] for i in chosen], atoms, rung, tempo)
                done, waiting = done + len(chosen), waiting - atoms
                yield chosen, found, seconds / len(chosen)

    def _timed(
        self, structures: Sequence[Structure], atoms: int, rung: int, tempo: BatchSize
    ) -> tuple[list[Answer], float]:
        """Answers of one batch with the CPU seconds that they took, which its tempo learns from."""
        started = time.process_time()
        if rung == 0:
            why = self.given_up or "one at a time is quicker"
            found = [Answer(self._alone(s), why) for s in structures]
        else:
            held = held_megabytes()
            found = self._together(structures, tempo)
            tempo.megabytes = max(0.0, peak_megabytes_since_start() - held)
        seconds = time.process_time() - started
        tempo.note(rung, seconds, atoms)
        return found, seconds

    def _together(self, structures: Sequence[Structure], tempo: BatchSize) -> list[Answer]:
        """One batch; in two halves if memory is short or the model refuses it; what is left over alone."""
        points, reason, short = self._asked(structures)
        if short:
            tempo.ceiling = max(0, min(tempo.ceiling, rung_below(sum(len(s) for s in structures))))
        if points is None and len(structures) > 1 and not self.given_up:
            middle = len(structures) // 2
            return self._together(structures[:middle], tempo) + self._together(structures[middle:], tempo)
        known = points if points is not None else [None] * len(structures)
        found = [
            Answer(p) if p is not None else self._asked_again(s, reason) for p, s in zip(known, structures, strict=True)
        ]
        return self._compared(structures, found, tempo)

    def _asked(self, structures: Sequence[Structure]) -> tuple[list[Point | None] | None, str, bool]:
        """What the evaluator says (None for what is unusable), or why it says nothing, and whether memory was short."""
        try:
            answers = list(self.evaluator.evaluate(structures))
        except (Exception, SystemExit) as error:
            text = f"{type(error).__name__}: {error}".strip()
            short = isinstance(error, MemoryError) or any(word in text.lower() for word in MEMORY_WORDS)
            return None, f"in a batch: {text.splitlines()[0]}", short
        if len(answers) != len(structures):
            return None, f"a batch of {len(structures)} gave {len(answers)} answers", False
        usable = [_point(energy, forces, s) for (energy, forces), s in zip(answers, structures, strict=True)]
        return usable, "the batch gave no finite numbers of the right shape", False

    def _asked_again(self, structure: Structure, reason: str) -> Answer:
        """What the calculator says where the batch said nothing usable."""
        point = self._alone(structure)
        if isinstance(point, Point) and point.ok:
            self.disagreements += 1
            if self.disagreements >= GIVE_UP and not self.given_up:
                self.given_up = f"batches were given up: {reason}"
        return Answer(point, reason)

    def _alone(self, structure: Structure) -> Point | MemoryError:
        try:
            return self.single.evaluate(structure)
        except ModelFailure as failure:
            return no_point(len(structure), str(failure), failure.cause)
        except MemoryError as error:
            return error

    def _compared(self, structures: Sequence[Structure], found: list[Answer], tempo: BatchSize) -> list[Answer]:
        """The first batch of a size is compared with the calculator, whose pace for this size is thereby known too."""
        if 0 in tempo.seconds or self.given_up:
            return found
        tempo.seconds[0] = np.inf
        for i in dict.fromkeys(np.linspace(0, len(structures) - 1, SPOT_CHECKS).astype(int).tolist()):
            started = time.process_time()
            alone, together = self._alone(structures[i]), found[i].point
            tempo.note(0, time.process_time() - started, len(structures[i]))
            if isinstance(alone, Point) and isinstance(together, Point) and not _agree(alone, together):
                difference = abs(alone.energy - together.energy)
                self.given_up = f"batches were given up: a structure differs by {difference:.2g} eV from itself alone"
        if not self.given_up:
            return found
        return [Answer(self._alone(s), self.given_up) for s in structures]  # nothing of this batch can be trusted


def _by_size(structures: Sequence[Structure]) -> dict[int, list[int]]:
    """Places of structures that may share a batch, the smallest first: up to 1, 2, 4, 8, 16 and so on atoms.

    Some models fill structures up to the largest of the batch, so that very different ones go apart, unless they are so
    few that a batch of their own would cost more.
    """
    groups: dict[int, list[int]] = {}
    for index in sorted(range(len(structures)), key=lambda i: len(structures[i])):
        groups.setdefault(1 << max(len(structures[index]) - 1, 0).bit_length(), []).append(index)
    for smaller, larger in pairwise(list(groups)):
        if len(groups[smaller]) * larger <= FEW:
            groups[larger] = groups.pop(smaller) + groups[larger]
    return groups


def _filling(members: Sequence[int], structures: Sequence[Structure], atoms: int) -> list[int]:
    """The first of the members that make up no more than so many atoms together; one at least."""
    chosen, total = [members[0]], len(structures[members[0]])
    for index in members[1:]:
        total += len(structures[index])
        if total > atoms:
            break
        chosen.append(index)
    return chosen


def _point(energy: float, forces: np.ndarray, structure: Structure) -> Point | None:
    """An answer as a point, if it is made of finite numbers of the right shape."""
    try:
        array, value = np.array(forces, dtype=float), float(energy)
    except (TypeError, ValueError):
        return None
    if array.shape != (len(structure), 3) or not np.isfinite(value) or not np.isfinite(array).all():
        return None
    return Point(value, array, pbc=structure.pattern)


def _agree(one: Point, other: Point) -> bool:
    """True when two answers are the same up to the rounding of single precision, in which most networks work."""
    if not (one.ok and other.ok):
        return one.ok == other.ok
    energy = 1e-4 * len(one.forces) + 4e-6 * abs(one.energy)
    scale = float(np.abs(one.forces).max(initial=0.0))
    same_forces = float(np.abs(one.forces - other.forces).max(initial=0.0)) <= 2e-3 * (1.0 + scale)
    return abs(one.energy - other.energy) <= energy and same_forces
