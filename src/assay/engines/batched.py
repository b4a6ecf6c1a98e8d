"""The engine for models that evaluate many structures in one call: structures of all jobs at hand are pooled.

How large a batch should be is measured, not assumed: for each size of structure the batch grows as long as a structure
gets cheaper and memory allows. A batch that runs out of memory is halved. What a batch does not answer is asked of the
calculator alone, whose word counts, and the reason is kept.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.engines.ase import AseEngine, no_point, packed_outcome
from assay.errors import ModelFailure
from assay.jobs import SinglePoints
from assay.model import BatchEvaluator
from assay.outcome import ERROR, Outcome, Point
from assay.structure import Structure

LADDER = (1, 64, 256, 1024, 4096, 16384)
"""Sizes of batches that are tried, in atoms; the first is one structure, by the calculator."""

GAIN = 0.9
"""The next larger size is tried as long as the last step brought the cost of a structure below this fraction."""

MEMORY_SHARE = 0.5
"""A larger batch is tried only if it is expected to need less than this share of the memory that is free."""

GIVE_UP = 3
"""So many structures that the calculator answers and the batch does not, and the batch is not used any more."""

SPOT_CHECKS = 3
MEMORY_WORDS = ("out of memory", "not enough memory", "can't allocate", "cannot allocate", "resource_exhausted")


@dataclass
class Tempo:
    """What is known about structures of one size: seconds each on every rung of the ladder, and the rung to use."""

    seconds: dict[int, float] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    ceiling: int = len(LADDER) - 1
    megabytes: float = 0.0

    def rung(self) -> int:
        """The next rung to use: a higher one while it pays to climb and memory allows, else the best."""
        tried = [r for r in sorted(self.seconds) if r > 0]
        top = tried[-1] if tried else 0
        if top and self.calls.get(top, 0) < 2 and top <= self.ceiling:
            return top  # the first call at a new size may compile, the second shows the pace
        climbing = len(tried) < 2 or self.seconds[top] < GAIN * self.seconds[tried[-2]]
        if climbing and top < self.ceiling and self._fits(top):
            return top + 1
        usable = [r for r in self.seconds if r <= self.ceiling]
        return min(usable, key=lambda r: self.seconds[r]) if usable else 0

    def note(self, rung: int, seconds: float) -> None:
        """Keep the best time of a rung."""
        self.seconds[rung] = min(seconds, self.seconds.get(rung, seconds))
        self.calls[rung] = self.calls.get(rung, 0) + 1

    def _fits(self, top: int) -> bool:
        """True when the next rung is expected to fit into memory, from what the last one took."""
        growth = LADDER[top + 1] / LADDER[top]
        return top == 0 or growth * self.megabytes <= MEMORY_SHARE * free_megabytes()


def free_megabytes() -> float:
    """Memory that this process may still take, in MB."""
    import psutil

    return float(psutil.virtual_memory().available) / 1e6


def peak_megabytes() -> float:
    """The most memory that this process has held so far, in MB."""
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


def held_megabytes() -> float:
    """Memory that this process holds now, in MB."""
    import psutil

    return float(psutil.Process().memory_info().rss) / 1e6


class BatchedEngine:
    """Evaluates pooled structures with the model's batch evaluator."""

    name = "batched"

    def __init__(self, single: AseEngine) -> None:
        self.single = single
        self.tempos: dict[int, Tempo] = {}
        self.given_up = ""
        self.disagreements = 0
        self.why: dict[int, str] = {}
        self._evaluator: BatchEvaluator | None = None

    @property
    def evaluator(self) -> BatchEvaluator:
        """The batch evaluator, built when it is first needed."""
        if self._evaluator is None:
            if self.single.model.build_batch is None:
                raise ModelFailure("the model has no batched evaluator")
            self._evaluator = self.single.model.build_batch()
        return self._evaluator

    def run(self, jobs: Sequence[tuple[str, SinglePoints]]) -> list[Outcome]:
        """All jobs to their outcomes, their structures in common batches."""
        structures = [s for _, job in jobs for s in job.structures]
        self.why, started = {}, time.time()
        points: list[Point | MemoryError | None] = [None] * len(structures)
        cost = np.zeros(len(structures))
        for members in _by_size(structures):
            self._work_through(members, structures, points, cost)
        outcomes, start = [], 0
        for key, job in jobs:
            chosen = slice(start, start + len(job.structures))
            start += len(job.structures)
            reasons = [self.why[i] for i in range(chosen.start, chosen.stop) if i in self.why]
            batch = {"structures": len(job.structures) - len(reasons), "alone": len(reasons)}
            provenance = {
                "engine": self.name,
                "started": started,
                "finished": time.time(),
                "cpu_seconds": round(float(cost[chosen].sum()), 6),
                "batch": {**batch, **({"why_alone": reasons[0]} if reasons else {})},
            }
            outcomes.append(_outcome(key, job, points[chosen], provenance))
        return outcomes

    def _work_through(
        self,
        members: list[int],
        structures: Sequence[Structure],
        points: list[Point | MemoryError | None],
        cost: np.ndarray,
    ) -> None:
        """Structures of one size, in batches whose size follows from what has been measured so far."""
        atoms = len(structures[members[0]])
        tempo = self.tempos.setdefault(atoms, Tempo())
        waiting = list(members)
        while waiting:
            rung = 0 if self.given_up else tempo.rung()
            count = max(1, LADDER[rung] // max(atoms, 1)) if rung else 1
            chosen, waiting = waiting[:count], waiting[count:]
            held, started = held_megabytes() if rung else 0.0, time.process_time()
            if rung == 0:
                self.why[chosen[0]] = self.given_up or "one at a time is quicker"
                points[chosen[0]] = self._alone(structures[chosen[0]])
            else:
                self._batch(chosen, structures, points, tempo)
                tempo.megabytes = max(0.0, peak_megabytes() - held)
            seconds = (time.process_time() - started) / len(chosen)
            cost[chosen] += seconds
            if len(chosen) == count or rung not in tempo.seconds:
                tempo.note(rung, seconds)

    def _batch(
        self,
        chosen: list[int],
        structures: Sequence[Structure],
        points: list[Point | MemoryError | None],
        tempo: Tempo,
    ) -> None:
        """One batch; in two halves if memory is short or the model refuses it; what is left over alone."""
        found, reason, short = self._answers([structures[i] for i in chosen])
        if short:
            tempo.ceiling = max(0, min(tempo.ceiling, _rung_below(len(chosen) * len(structures[chosen[0]]))))
        if found is None and len(chosen) > 1 and not self.given_up:
            middle = len(chosen) // 2
            for half in (chosen[:middle], chosen[middle:]):
                self._batch(half, structures, points, tempo)
            return
        for place, i in enumerate(chosen):
            point = found[place] if found is not None else None
            points[i] = point if point is not None else self._asked_again(i, structures[i], reason)
        self._spot_check(chosen, structures, points, tempo)

    def _answers(self, structures: Sequence[Structure]) -> tuple[list[Point | None] | None, str, bool]:
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

    def _asked_again(self, index: int, structure: Structure, reason: str) -> Point | MemoryError:
        """What the calculator says where the batch said nothing usable."""
        self.why[index] = reason
        point = self._alone(structure)
        if isinstance(point, Point) and point.ok:
            self._distrust(reason)
        return point

    def _distrust(self, reason: str) -> None:
        self.disagreements += 1
        if self.disagreements >= GIVE_UP and not self.given_up:
            self.given_up = f"batches were given up: {reason}"

    def _alone(self, structure: Structure) -> Point | MemoryError:
        try:
            return self.single.evaluate(structure)
        except ModelFailure as failure:
            return no_point(len(structure), str(failure))
        except MemoryError as error:
            return error

    def _spot_check(
        self,
        chosen: list[int],
        structures: Sequence[Structure],
        points: list[Point | MemoryError | None],
        tempo: Tempo,
    ) -> None:
        """The first batch of a size is compared with the calculator, whose pace for this size is thereby known too."""
        if 0 in tempo.seconds or self.given_up:
            return
        tempo.seconds[0] = np.inf
        for i in dict.fromkeys(chosen[k] for k in np.linspace(0, len(chosen) - 1, SPOT_CHECKS).astype(int)):
            started = time.process_time()
            alone, together = self._alone(structures[i]), points[i]
            tempo.note(0, time.process_time() - started)
            if isinstance(alone, Point) and isinstance(together, Point) and not _agree(alone, together):
                difference = abs(alone.energy - together.energy)
                self.given_up = f"batches were given up: a structure differs by {difference:.2g} eV from itself alone"
        if self.given_up:  # nothing of this batch can be trusted
            for i in chosen:
                self.why[i] = self.given_up
                points[i] = self._alone(structures[i])


def _by_size(structures: Sequence[Structure]) -> list[list[int]]:
    """Places of the structures with the same number of atoms; the same composition side by side."""
    groups: dict[int, list[int]] = {}
    for index, structure in enumerate(structures):
        groups.setdefault(len(structure), []).append(index)
    return [groups[size] for size in sorted(groups)]


def _rung_below(atoms: int) -> int:
    return max(r for r, size in enumerate(LADDER) if size < max(atoms, 2))


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


def _outcome(
    key: str, job: SinglePoints, found: Sequence[Point | MemoryError | None], provenance: dict[str, object]
) -> Outcome:
    short = next((p for p in found if isinstance(p, MemoryError)), None)
    if short is not None:
        trace = "".join(traceback.format_exception(short))
        return Outcome(key, ERROR, {}, f"out of memory: {short}", trace, provenance)
    points = [p for p in found if isinstance(p, Point)]
    status, values, reason = packed_outcome(points, job)
    return Outcome(key, status, values, reason, "", provenance)
