"""The engine for models that evaluate many structures in one call: all jobs at hand go forward side by side.

In every round the structures that the jobs ask for are pooled and evaluated in batches. A job that is finished, or has
failed, leaves with its outcome; the others join the next round.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from assay.compute.engines.calculator import CalculatorEngine, ended_by
from assay.compute.engines.pool import Answer, Pool
from assay.compute.protocols import Asking, Ending
from assay.jobs import Job
from assay.outcome import Outcome, Point
from assay.structure import Structure


@dataclass(eq=False)
class Task:
    """A job on its way: what it has asked for, what has been answered, and what it has cost."""

    key: str
    make: Callable[[], Asking[Ending]]
    started: float = field(default_factory=time.time)
    asking: Asking[Ending] | None = None
    asked: list[Structure] = field(default_factory=list)
    points: dict[int, Point] = field(default_factory=dict)
    waiting: int = 0
    short: MemoryError | None = None
    cpu: float = 0.0
    together: int = 0
    alone: int = 0
    why_alone: str = ""

    def take(self, place: int, answer: Answer, seconds: float) -> None:
        """Keep the answer to one of the structures asked for."""
        self.waiting -= 1
        self.cpu += seconds
        self.together, self.alone = self.together + (not answer.alone), self.alone + bool(answer.alone)
        self.why_alone = self.why_alone or answer.alone
        if isinstance(answer.point, MemoryError):
            self.short = answer.point
        else:
            self.points[place] = answer.point

    def advance(self) -> Outcome | None:
        """Go on with the points that were asked for; the outcome if that was the end."""
        if self.short is not None:
            return self._outcome(ended_by(self.short), self.short)
        points, started = [self.points[i] for i in range(len(self.asked))], time.process_time()
        self.points = {}
        try:
            self.asking = self.asking or self.make()
            self.asked = self.asking.send(points) if self.asked else next(self.asking)
        except StopIteration as end:
            return self._outcome(end.value)
        except Exception as error:  # ours: it must not take the other jobs with it
            return self._outcome(ended_by(error), error)
        self.waiting = len(self.asked)
        self.cpu += time.process_time() - started
        return None

    def _outcome(self, ending: Ending, error: BaseException | None = None) -> Outcome:
        self.asked, self.points = [], {}
        batch: dict[str, object] = {"structures": self.together, "alone": self.alone}
        provenance = {
            "engine": "batched",
            "started": self.started,
            "finished": time.time(),
            "cpu_seconds": round(self.cpu, 6),
            "batch": {**batch, **({"why_alone": self.why_alone} if self.why_alone else {})},
        }
        trace = "".join(traceback.format_exception(error)) if error is not None else ""
        return Outcome(self.key, ending.status, ending.values, ending.reason, trace, provenance, ending.cause)


class BatchedEngine:
    """Runs jobs side by side with the model's batch evaluator."""

    name = "batched"

    def __init__(self, single: CalculatorEngine) -> None:
        self.batches = Pool(single)

    def run(self, jobs: Sequence[tuple[str, Job]]) -> Iterator[Outcome]:
        """Outcomes of all jobs, each as soon as it is known."""
        going = [Task(key, partial(self.batches.single.protocol, key, job)) for key, job in jobs]
        for task in list(going):
            if (outcome := task.advance()) is not None:
                going.remove(task)
                yield outcome
        while going:
            round_, going = going, []
            places = [(task, i) for task in round_ for i in range(len(task.asked))]
            for chosen, answers, seconds in self.batches.answers([task.asked[i] for task, i in places]):
                for index, answer in zip(chosen, answers, strict=True):
                    task, place = places[index]
                    task.take(place, answer, seconds)
                    if task.waiting:
                        continue
                    if (outcome := task.advance()) is None:
                        going.append(task)
                    else:
                        yield outcome
