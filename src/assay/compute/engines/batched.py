"""The engine for models that evaluate many structures in one call: all jobs advance together.

In every round the structures that the jobs need next are collected and evaluated in batches. A job that has finished or
failed returns its outcome; the other jobs take part in the next round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from assay.compute.clock import cpu_seconds
from assay.compute.engines.calculator import CalculatorEngine, ending_of, trace_of
from assay.compute.engines.pool import Answer, Pool
from assay.compute.protocols import Ending, Requests
from assay.errors import MachineFailure
from assay.jobs import Job
from assay.outcome import Outcome, Point
from assay.structure import Structure


@dataclass(eq=False)
class Task:
    """A running job: the structures it needs next, their results so far, and the CPU time used."""

    key: str
    make: Callable[[], Requests[Ending]]
    started: float = field(default_factory=time.time)
    requests: Requests[Ending] | None = None
    structures: list[Structure] = field(default_factory=list)
    points: dict[int, Point] = field(default_factory=dict)
    waiting: int = 0
    """Structures of this round without a result."""

    fault: MachineFailure | None = None
    cpu: float = 0.0
    in_batches: int = 0
    alone: int = 0
    why_alone: str = ""
    given_up: str = ""

    def take(self, place: int, answer: Answer, seconds: float) -> None:
        """Keep the result of one structure of this round."""
        self.waiting -= 1
        self.cpu += seconds
        self.in_batches += not answer.why_alone
        self.alone += bool(answer.why_alone)
        self.why_alone = self.why_alone or answer.why_alone
        self.given_up = self.given_up or answer.given_up
        if isinstance(answer.point, MachineFailure):
            self.fault = answer.point
        else:
            self.points[place] = answer.point

    def advance(self) -> Outcome | None:
        """Continue the job with the results of this round; returns the outcome if the job has ended."""
        if self.fault is not None:
            return self._outcome(ending_of(self.fault), self.fault)
        points, started = [self.points[i] for i in range(len(self.structures))], cpu_seconds()
        self.points = {}
        try:
            self.requests = self.requests or self.make()
            self.structures = self.requests.send(points) if self.structures else next(self.requests)
        except StopIteration as end:
            return self._outcome(end.value)
        except Exception as error:  # an error of Assay in one job must not end the other jobs
            return self._outcome(ending_of(error), error)
        self.waiting = len(self.structures)
        self.cpu += cpu_seconds() - started
        return None

    def _outcome(self, ending: Ending, error: BaseException | None = None) -> Outcome:
        self.structures, self.points = [], {}
        reasons = {"why_alone": self.why_alone, "given_up": self.given_up}
        batch = {"structures": self.in_batches, "alone": self.alone, **{k: v for k, v in reasons.items() if v}}
        provenance = {
            "engine": "batched",
            "started": self.started,
            "finished": time.time(),
            "cpu_seconds": round(self.cpu, 6),
            "batch": batch,
        }
        trace = trace_of(error) if error is not None else ""
        return Outcome(self.key, ending.status, ending.values, ending.reason, trace, provenance, ending.cause)


class BatchedEngine:
    """Runs jobs together with the model's batch evaluator."""

    name = "batched"

    def __init__(self, single: CalculatorEngine) -> None:
        self.pool = Pool(single)

    def run(self, jobs: Sequence[tuple[str, Job]]) -> Iterator[Outcome]:
        """Outcomes of all jobs, each as soon as the job has ended."""
        running = [Task(key, partial(self.pool.single.protocol, key, job)) for key, job in jobs]
        for task in list(running):
            if (outcome := task.advance()) is not None:
                running.remove(task)
                yield outcome
        while running:
            this_round, running = running, []
            places = [(task, i) for task in this_round for i in range(len(task.structures))]
            for members, answers, seconds in self.pool.answers([task.structures[i] for task, i in places]):
                for index, answer in zip(members, answers, strict=True):
                    task, place = places[index]
                    task.take(place, answer, seconds)
                    if task.waiting:
                        continue
                    if (outcome := task.advance()) is None:
                        running.append(task)
                    else:
                        yield outcome
